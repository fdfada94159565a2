// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>

#include "core/graph/graph_builder.h"
#include "core/ops/fold_constants.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/node_steps.h"

using namespace tunesmith;

class TestNodeSteps : public QObject {
    Q_OBJECT

    using Attributes = std::map<std::string, Attribute>;
    using Ints = std::vector<std::int64_t>;

    static double stepsOf(const std::string& op, const std::vector<Shape>& shapes, const Attributes& attributes, std::int64_t opset = 17) {
        GraphBuilder builder;
        builder.setOpset("", opset);
        std::vector<ValueId> inputs;
        for (const Shape& shape : shapes)
            inputs.push_back(builder.addInput("x", TensorType(DType::f32, shape)));
        builder.setOutputs({builder.add(op, inputs, attributes)});
        const auto graph = builder.build();
        return nodeSteps(OpInputs(*graph, *graph->nodes()[0]));
    }

    static double stepsOfResize(const std::string& mode, const Shape& from, const Shape& to) {
        GraphBuilder builder;
        builder.setOpset("", 17);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, from));
        const ValueId sizes = builder.addConstant("sizes", Tensor::of<std::int64_t>({static_cast<std::int64_t>(to.size())}, to));
        builder.setOutputs({builder.add("Resize", {x, {}, {}, sizes}, {{"mode", mode}})});
        const auto graph = builder.build();
        return nodeSteps(OpInputs(*graph, *graph->nodes()[0]));
    }

private slots:
    void countsLoops_data() {
        QTest::addColumn<double>("steps");
        QTest::addColumn<double>("expected");
        const auto add = [](const char* name, double steps, double expected) { QTest::newRow(name) << steps << expected; };
        add("MatMul", stepsOf("MatMul", {{16, 32}, {32, 8}}, {}), 16 * 32 * 8);
        add("Conv", stepsOf("Conv", {{1, 4, 10, 10}, {6, 4, 3, 3}}, {}), 6 * 8 * 8 * 4 * 9);
        add("MaxPool", stepsOf("MaxPool", {{1, 1, 100, 100}}, {{"kernel_shape", Ints{50, 50}}}), 51 * 51 * 50 * 50);
        add("ReduceSum", stepsOf("ReduceMax", {{64, 64}}, {{"axes", Ints{1}}, {"keepdims", std::int64_t(1)}}), 64 * 64);
        add("ConvTranspose", stepsOf("ConvTranspose", {{1, 1, 100}, {1, 1, 50}}, {}), 149 * 50);
        add("Einsum", stepsOf("Einsum", {{100}, {200}}, {{"equation", std::string("a,b->")}}), 100 * 200);
        add("Det", stepsOf("Det", {{30, 30}}, {}), 30 * 30 * 30);
        add("Sum", stepsOf("Sum", {{1000}, {1000}, {1000}, {1000}, {1000}}, {}), 5 * 1000);
        add("NonZero", stepsOf("NonZero", {{1000, 10}}, {}), 1000 * 10);
        add("Resize of an image", stepsOfResize("cubic", {1, 768, 37, 37}, {1, 768, 64, 64}), 768.0 * (64 * 37 + 64 * 64) * 4);
        add("Resize that grows before it shrinks", stepsOfResize("linear", {1, 65536}, {4096, 1}), 4096.0 * 65536 * 2);
        add("DFT", stepsOf("DFT", {{1, 101, 1}}, {{"axis", std::int64_t(1)}}), 101 * 202);
    }
    void countsLoops() {
        QFETCH(const double, steps);
        QFETCH(const double, expected);
        QVERIFY2(steps >= expected / 2 && steps <= expected * 4, QByteArray::number(steps) + " instead of " + QByteArray::number(expected));
    }

    void whatIsBoundedByItsBytesCountsAsNothing() {
        QCOMPARE(stepsOf("Relu", {{1000}}, {}), 0.0);
        QCOMPARE(stepsOf("Transpose", {{1000, 10}}, {}), 0.0);
        QCOMPARE(stepsOf("MatMul", {{16, 32}, {31, 8}}, {}), 0.0); // refused
        QCOMPARE(stepsOf("NoSuchOperator", {{16, 32}}, {}), 0.0);
    }

    void foldingStops() {
        GraphBuilder builder;
        builder.setOpset("", 17);
        ValueId sum = builder.addInput("x", TensorType(DType::f32, Shape{256, 256}));
        const ValueId weights = builder.addConstant("w", Tensor::zeros(DType::f32, {256, 256}));
        for (int i = 0; i < 4; ++i) // each takes 2^24 steps, too many for shape inference
            sum = builder.add("Add", {sum, builder.add("MatMul", {weights, weights})});
        builder.setOutputs({sum});
        const auto graph = builder.build();
        FoldOptions options;
        options.mostSteps = 2.5 * (1 << 24);
        const auto folded = foldConstants(*graph, options);
        QVERIFY(folded.ok());
        const auto left = std::ranges::count_if(folded->nodes(), [](const auto& node) { return node->op == "MatMul"; });
        QCOMPARE(left, std::ptrdiff_t(2));
        QCOMPARE(std::ssize(foldConstants(*graph)->nodes()), std::ptrdiff_t(4));
    }
};

QTEST_GUILESS_MAIN(TestNodeSteps)
#include "tst_node_steps.moc"
