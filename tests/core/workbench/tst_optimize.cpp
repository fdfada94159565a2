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

    // What only saves work is in the way of merging where launches are counted: query, key and value of the last layer, of which one token is asked for.
    void launchesAreCountedWithoutWork() {
        GraphBuilder builder("last");
        builder.setOpset({}, 13);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{6, 4}));
        std::vector<ValueId> made;
        for (int i = 0; i < 3; ++i) {
            Tensor weights = Tensor::zeros(DType::f32, {4, 4});
            std::ranges::fill(weights.mutableData<float>(), 0.5F + static_cast<float>(i));
            made.push_back(builder.add("MatMul", {x, builder.addConstant({}, weights)}));
        }
        const auto ints = [&](std::int64_t value) { return builder.addConstant({}, Tensor::ofInts({value})); };
        const ValueId query = builder.add("Slice", {made[0], ints(0), ints(1), ints(0)});
        builder.setOutputs({builder.add("MatMul", {query, builder.add("Transpose", {made[1]}, {{"perm", std::vector<std::int64_t>{1, 0}}})}), made[2]});
        const std::string file = folder_.filePath("last.onnx").toStdString();
        const Status written = exportOnnx(take(builder.build()), file);
        QVERIFY2(written.ok(), written.error().message.c_str());
        const OptimizedModel found = take(optimizeModel(take(openModel(file)), request()));
        const auto uses = [&](const std::string& rule) {
            return std::ranges::any_of(found.rules, [&](const RuleUse& use) { return use.rule == rule && use.count > 0; });
        };
        QVERIFY(uses("merge-products") && !uses("slice-up"));
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
