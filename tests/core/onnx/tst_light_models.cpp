// SPDX-License-Identifier: GPL-3.0-or-later
// The nine classic networks of the ONNX suite through the reference engine, against the stored outputs. Their
// weights are constant and so is the input: all ones.
#include "core/onnx/import.h"

#include <QTest>

#include "core/check/equivalence.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "test_models.h"

using namespace tunesmith;

namespace {

Tensor ones(const TensorType& type) {
    Tensor tensor = Tensor::zeros(type.dtype, type.shape());
    for (float& element : tensor.mutableData<float>())
        element = 1;
    return tensor;
}

} // namespace

class TestLightModels : public QObject {
    Q_OBJECT
private slots:
    void storedOutput_data() {
        QTest::addColumn<QString>("file");
        const auto folder = testing::modelFolder();
        if (folder.empty())
            QSKIP("TUNESMITH_TEST_DATA names no folder with models");
        for (const auto& file : testing::modelFiles(folder / "onnx-light"))
            QTest::newRow(file.stem().c_str()) << QString::fromStdString(file.string());
    }
    void storedOutput() {
        QFETCH(QString, file);
        const std::filesystem::path path = file.toStdString();
        const auto expected = readTensorProto(path.parent_path() / (path.stem().string() + "_output_0.pb"));
        QVERIFY2(expected.ok(), expected.ok() ? "" : expected.error().message.c_str());
        const auto read = importOnnx(path);
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().message.c_str());
        const auto graph = inferShapes(*read);
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        std::vector<Tensor> inputs;
        for (const ValueId id : graph->inputs())
            inputs.push_back(ones(graph->value(id).type));
        const auto outputs = Interpreter(*graph).run(inputs);
        QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
        const Difference difference = compareTensors(*expected, (*outputs)[0]);
        QVERIFY2(difference.equal, difference.text.c_str());
    }
};

QTEST_GUILESS_MAIN(TestLightModels)
#include "tst_light_models.moc"
