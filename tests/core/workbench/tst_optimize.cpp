// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

#include "core/graph/graph_builder.h"
#include "core/onnx/export.h"
#include "core/workbench/optimize.h"
#include "tests/take.h"

using namespace tunesmith;

// The facade of substitution search. Searches and rules have tests of their own.
class TstOptimize : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    // A model of two pools, by way of a file.
    Model poolsOf(std::int64_t opset) const {
        const std::map<std::string, Attribute> window{{"kernel_shape", std::vector<std::int64_t>{2, 2}}};
        GraphBuilder builder("pools");
        builder.setOpset({}, opset);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, 2, 6, 6}));
        builder.setOutputs({builder.add("AveragePool", {builder.add("Identity", {builder.add("MaxPool", {x}, window)})}, window)});
        const std::string file = folder_.filePath("pools.onnx").toStdString();
        if (const Status written = exportOnnx(take(builder.build()), file); !written.ok())
            qFatal("%s", written.error().message.c_str());
        return take(openModel(file));
    }

    OptimizeRequest request() const {
        OptimizeRequest asked;
        asked.cost = "kernels";
        asked.store = folder_.filePath("s.db").toStdString();
        return asked;
    }

private slots:
    void writesOnlyWhatTheOpsetKnows_data() {
        QTest::addColumn<int>("opset");
        QTest::addColumn<bool>("dilated");
        QTest::newRow("6") << 6 << false; // upgraded when it is read
        QTest::newRow("8") << 8 << false;
        QTest::newRow("10") << 10 << true;
    }
    void writesOnlyWhatTheOpsetKnows() {
        QFETCH(int, opset);
        QFETCH(bool, dilated);
        const OptimizedModel made = take(optimizeModel(poolsOf(opset), request()));
        QCOMPARE(made.nodesAfter, std::int64_t(2));
        for (const auto& node : made.after.nodes())
            QCOMPARE(node->has("dilations"), dilated && node->op == "MaxPool");
    }

    void tellsHowGoodPredictionsWere() {
        const Prediction exact = predictionOf({{1, 1}, {2, 2}, {3, 3}}), reversed = predictionOf({{1, 2}, {2, 1}});
        QCOMPARE(exact.error, 0.0);
        QCOMPARE(exact.kendallTau, 1.0);
        QCOMPARE(reversed.error, 0.75);
        QCOMPARE(reversed.kendallTau, -1.0);
    }
};

QTEST_GUILESS_MAIN(TstOptimize)
#include "tst_optimize.moc"
