// SPDX-License-Identifier: GPL-3.0-or-later
// Models by others: each imports, and what is written is the same model.
#include "core/onnx/export.h"
#include "core/onnx/import.h"

#include <QTest>

#include "test_models.h"

using namespace tunesmith;

class TestModelFiles : public QObject {
    Q_OBJECT
private slots:
    void roundTrip_data() {
        QTest::addColumn<QString>("file");
        const auto folder = testing::modelFolder();
        if (folder.empty())
            QSKIP("TUNESMITH_TEST_DATA names no folder with models");
        for (const auto& file : testing::modelFiles(folder))
            QTest::newRow(file.filename().c_str()) << QString::fromStdString(file.string());
    }
    void roundTrip() {
        QFETCH(QString, file);
        const auto graph = importOnnx(file.toStdString());
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        QVERIFY(graph->nodeCount() > 0 && !graph->inputs().empty() && !graph->outputs().empty());
        const auto bytes = exportOnnxBytes(*graph);
        QVERIFY2(bytes.ok(), bytes.ok() ? "" : bytes.error().message.c_str());
        const auto again = importOnnxBytes(*bytes);
        QVERIFY2(again.ok(), again.ok() ? "" : again.error().message.c_str());
        QCOMPARE(again->hash(), graph->hash());
        QVERIFY(*exportOnnxBytes(*again) == *bytes);
    }

    void storedOutputs() {
        const auto folder = testing::modelFolder();
        if (folder.empty())
            QSKIP("TUNESMITH_TEST_DATA names no folder with models");
        const auto tensor = readTensorProto(folder / "onnx-light" / "light_resnet50_output_0.pb");
        QVERIFY2(tensor.ok(), tensor.ok() ? "" : tensor.error().message.c_str());
        QCOMPARE(tensor->shape(), (Shape{1, 1000}));
    }
};

QTEST_GUILESS_MAIN(TestModelFiles)
#include "tst_model_files.moc"
