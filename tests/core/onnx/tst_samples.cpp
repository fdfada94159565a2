// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/samples.h"

#include <QTest>

#include <cmath>

#include "core/check/random_inputs.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"

using namespace tunesmith;

namespace {

double spread(const Tensor& tensor) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
        sum += tensor.asDouble(i);
        squares += tensor.asDouble(i) * tensor.asDouble(i);
    }
    const double mean = sum / static_cast<double>(tensor.count());
    return std::sqrt(std::max(0.0, squares / static_cast<double>(tensor.count()) - mean * mean));
}

} // namespace

class TestSamples : public QObject {
    Q_OBJECT
private slots:
    void everySample_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("parameters"); // in thousands
        QTest::newRow("resnet18") << "resnet18" << 11694;
        QTest::newRow("mobilenet_v2") << "mobilenet_v2" << 3538;
        QTest::newRow("encoder") << "encoder" << 1461;
        QTest::newRow("mlp") << "mlp" << 535;
        QCOMPARE(sampleModels().size(), std::size_t{4});
    }

    // Against the published sizes (which leave the running statistics of the normalizations out).
    void everySample() {
        QFETCH(QString, name);
        QFETCH(int, parameters);
        const auto graph = buildSample(name.toStdString(), 1);
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().message.c_str());
        std::int64_t count = 0;
        for (const auto& value : graph->values())
            if (value->isConstant() && value->type.dtype == DType::f32 &&
                value->name.find("running") == std::string::npos)
                count += value->constant.count();
        QVERIFY2(std::abs(static_cast<double>(count) / 1000 - parameters) < 0.01 * parameters,
                 std::to_string(count).c_str());
        QCOMPARE(graph->hash(), buildSample(name.toStdString(), 1)->hash());
        QVERIFY(graph->hash() != buildSample(name.toStdString(), 2)->hash());
        const auto again = importOnnxBytes(*exportOnnxBytes(*graph));
        QVERIFY(again.ok());
        QCOMPARE(again->hash(), graph->hash());
    }

    // No activation overflows or dies away on the way through the network.
    void numbersStaySane_data() { everySample_data(); }
    void numbersStaySane() {
        QFETCH(QString, name);
        const auto inferred = inferShapes(*buildSample(name.toStdString(), 1));
        QVERIFY2(inferred.ok(), inferred.ok() ? "" : inferred.error().message.c_str());
        QCOMPARE(inferred->value(inferred->outputs()[0]).type.dtype, DType::f32);
        QString bad;
        RunOptions options;
        options.observer = [&](const Node& node, const std::vector<Tensor>& outputs, double) {
            if (!isFloat(outputs[0].type()) || node.op == "Softmax" ||
                node.name.find("mean") != std::string::npos)
                return;
            const double deviation = spread(outputs[0]);
            if (!std::isfinite(deviation) || deviation > 1e3 || deviation < 1e-3)
                bad += QString("%1 %2; ").arg(QString::fromStdString(node.name)).arg(deviation);
        };
        const auto inputs = randomInputs(*inferred, 1);
        QVERIFY(inputs.ok());
        const auto outputs = Interpreter(*inferred).run(*inputs, options);
        QVERIFY2(outputs.ok(), outputs.ok() ? "" : outputs.error().message.c_str());
        QVERIFY2(bad.isEmpty(), qPrintable(bad));
        QVERIFY(spread((*outputs)[0]) > 0.05);
    }

    void unknownName() {
        const auto graph = buildSample("resnet", 1);
        QVERIFY(!graph.ok());
        QVERIFY2(graph.error().message.find("resnet18, mobilenet_v2") != std::string::npos,
                 graph.error().message.c_str());
    }
};

QTEST_GUILESS_MAIN(TestSamples)
#include "tst_samples.moc"
