// SPDX-License-Identifier: GPL-3.0-or-later
// Which models compute each row of a batch from that row alone.
#include <QTest>
#include <memory>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/module/independent_rows.h"
#include "core/module/pad_rows.h"
#include "core/ops/interpreter.h"
#include "tests/core/module/module_testing.h"

using namespace tunesmith;

namespace {

using Ints = std::vector<std::int64_t>;

struct Net {
    GraphBuilder builder;
    ValueId x;

    explicit Net(const Ints& tail, bool batchFirst = true) {
        builder.setOpset("", 17);
        Dims dims{tail.begin(), tail.end()};
        dims.insert(batchFirst ? dims.begin() : dims.end(), Dim::named("n"));
        x = builder.addInput("x", TensorType(DType::f32, dims));
    }
    ValueId weights(const Shape& shape) {
        return builder.addConstant("", tunesmith::testing::randomTensor(shape, 3));
    }
    ValueId ints(const Ints& values) { return builder.addConstant("", Tensor::ofInts(values)); }
    ValueId add(const char* op, const std::vector<ValueId>& inputs,
                std::map<std::string, Attribute> attributes = {}) {
        return builder.add(op, inputs, std::move(attributes));
    }
    Graph finish(ValueId output) {
        builder.setOutputs({output});
        const auto graph = builder.build();
        if (!graph.ok())
            qFatal("%s", graph.error().message.c_str());
        return *graph;
    }
};

void proven(const Graph& graph, int axis, std::int64_t block = 1) {
    const auto rows = independentRows(graph, {"n", 3, 4, {}});
    QVERIFY2(rows.ok(), rows.ok() ? "" : rows.error().message.c_str());
    QCOMPARE(rows->outputs[0].axis, axis);
    QCOMPARE(rows->outputs[0].block, block);
}

void mixes(const Graph& graph, const char* why, std::int64_t fewer = 5, std::int64_t more = 8) {
    const auto rows = independentRows(graph, {"n", fewer, more, {}});
    QVERIFY2(!rows.ok(), "taken for independent");
    QVERIFY2(rows.error().message.find(why) != std::string::npos, rows.error().message.c_str());
}

} // namespace

class TestIndependentRows : public QObject {
    Q_OBJECT

private slots:
    void dense() {
        Net net({6});
        const ValueId y = net.add("Gemm", {net.x, net.weights({6, 4}), net.weights({4})});
        proven(net.finish(net.add("Softmax", {net.add("Relu", {y})}, {{"axis", std::int64_t{1}}})), 0);
    }

    void convolution() {
        Net net({3, 8, 8});
        const ValueId y = net.add("Conv", {net.x, net.weights({4, 3, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}});
        const ValueId pooled =
            net.add("GlobalAveragePool", {net.add("MaxPool", {y}, {{"kernel_shape", Ints{2, 2}}})});
        proven(net.finish(net.add("Flatten", {pooled})), 0);
    }

    // What is reshaped to N*T tokens and back, with attention between the tokens of one sequence.
    void attention() {
        Net net({5, 6});
        const ValueId tokens = net.add("Reshape", {net.x, net.ints({-1, 6})});
        const ValueId q =
            net.add("Reshape", {net.add("MatMul", {tokens, net.weights({6, 6})}), net.ints({-1, 5, 2, 3})});
        const ValueId heads = net.add("Transpose", {q}, {{"perm", Ints{0, 2, 1, 3}}});
        const ValueId keys = net.add("Transpose", {q}, {{"perm", Ints{0, 2, 3, 1}}});
        const ValueId scores =
            net.add("Softmax", {net.add("MatMul", {heads, keys})}, {{"axis", std::int64_t{-1}}});
        const ValueId mixed =
            net.add("Transpose", {net.add("MatMul", {scores, heads})}, {{"perm", Ints{0, 2, 1, 3}}});
        proven(net.finish(net.add("Reshape", {mixed, net.ints({-1, 6})})), 0, 5);
    }

    void rowsOfAnotherAxis() {
        Net net({4}, false);
        proven(net.finish(net.add("MatMul", {net.weights({3, 4}), net.x})), 1);
    }

    void recurrentLayer() {
        Net net({5});
        const ValueId steps = net.add("Unsqueeze", {net.x, net.ints({0})});
        proven(net.finish(net.add("RNN", {steps, net.weights({1, 4, 5}), net.weights({1, 4, 4})},
                                  {{"hidden_size", std::int64_t{4}}})),
               2);
    }

    void statesThatAreMadeForTheBatch() {
        Net net({5});
        const ValueId count = net.add("Gather", {net.add("Shape", {net.x}), net.ints({0})});
        const ValueId shape = net.add("Concat", {count, net.ints({5})}, {{"axis", std::int64_t{0}}});
        const ValueId ones = net.add("ConstantOfShape", {shape}, {{"value", Tensor::of<float>({1}, {2.5F})}});
        proven(net.finish(net.add("Add", {net.x, ones})), 0);
    }

    void sumsOverTheBatchMix() {
        Net net({6});
        mixes(net.finish(net.add("ReduceMean", {net.x}, {{"axes", Ints{0}}})), "ReduceMean");
        Net centred({6});
        const ValueId mean = centred.add("ReduceMean", {centred.x}, {{"axes", Ints{0}}});
        mixes(centred.finish(centred.add("Sub", {centred.x, mean})), "ReduceMean");
    }

    void softmaxOverTheBatchMixes() {
        Net net({6});
        mixes(net.finish(net.add("Softmax", {net.x}, {{"axis", std::int64_t{0}}})), "Softmax");
    }

    void neighboursMix() {
        Net net({3, 8, 8});
        const ValueId turned = net.add("Transpose", {net.x}, {{"perm", Ints{1, 2, 0, 3}}});
        mixes(net.finish(net.add("Conv", {turned, net.weights({4, 8, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}})),
              "Conv");
    }

    void otherRowsMix() {
        Net first({6});
        mixes(first.finish(first.add("Gather", {first.x, first.ints({0})}, {{"axis", std::int64_t{0}}})),
              "Gather");
        Net backwards({6});
        const auto all = backwards.ints({std::numeric_limits<std::int64_t>::min()});
        mixes(backwards.finish(backwards.add("Slice", {backwards.x, backwards.ints({-1}), all,
                                                       backwards.ints({0}), backwards.ints({-1})})),
              "Slice");
        Net turned({2});
        mixes(turned.finish(turned.add("Reshape", {turned.x, turned.ints({2, -1})})), "Reshape");
    }

    void theNumberOfRowsInTheComputationMixes() {
        Net net({6});
        const ValueId count = net.add("Gather", {net.add("Shape", {net.x}), net.ints({0})});
        mixes(net.finish(net.add("Div", {net.x, net.add("Cast", {count}, {{"to", std::int64_t{1}}})})),
              "Div");
    }

    // What is the same for 2 and 3 rows need not be for 5 and 8: each pair is its own question.
    void othersThanTwoAndThree() {
        const auto counted = [](const char* op, std::int64_t by) {
            auto net = std::make_unique<Net>(Ints{6});
            const ValueId count = net->add("Gather", {net->add("Shape", {net->x}), net->ints({0})});
            const ValueId number =
                net->add("Cast", {net->add(op, {count, net->ints({by})})}, {{"to", std::int64_t{1}}});
            return net->finish(net->add("Mul", {net->x, number}));
        };
        mixes(counted("Div", 2), "Mul");
        mixes(counted("Min", 6), "Mul");
        mixes(counted("Add", 1'000'000), "Mul"); // the last digit of a burnt-in number
        QVERIFY(independentRows(counted("Div", 2), {"n", 2, 3, {}}).ok());
        Net piece({6});
        mixes(piece.finish(piece.add("Slice", {piece.x, piece.ints({0}), piece.ints({6}), piece.ints({0})})),
              "one axis");
        Net shape({6});
        mixes(shape.finish(shape.add("Shape", {shape.x})), "output");
    }

    void onlyOneOfTwoAxes() {
        GraphBuilder builder;
        builder.setOpset("", 17);
        const ValueId x =
            builder.addInput("x", TensorType(DType::f32, Dims{Dim::named("n"), Dim::named("n")}));
        builder.setOutputs({builder.add("Relu", {x})});
        mixes(*builder.build(), "along one axis");
    }

    void otherDimensionsAreBound() {
        GraphBuilder builder;
        builder.setOpset("", 17);
        const ValueId x =
            builder.addInput("x", TensorType(DType::f32, Dims{Dim::named("n"), Dim::named("t")}));
        builder.setOutputs({builder.add("Softmax", {x}, {{"axis", std::int64_t{1}}})});
        QVERIFY(independentRows(*builder.build(), {"n", 2, 3, {{"t", 7}}}).ok());
        QVERIFY(!independentRows(*builder.build(), {"t", 2, 3, {{"n", 7}}}).ok());
        QVERIFY(!independentRows(*builder.build(), {"n", 2, 3, {}}).ok());
    }

    void rowsAreAddedAndCut() {
        const Tensor x = Tensor::of<float>({2, 2, 1}, {1, 2, 3, 4});
        const auto values = [](const Tensor& tensor) {
            const auto data = tensor.data<float>();
            return std::vector<float>(data.begin(), data.end());
        };
        QCOMPARE(values(*withRows(x, {0, 1}, 3)), (std::vector<float>{1, 2, 3, 4, 3, 4}));
        QCOMPARE(values(*withRows(x, {1, 1}, 3)), (std::vector<float>{1, 2, 2, 3, 4, 4}));
        QCOMPARE(values(*withRows(x, {1, 2}, 2)), (std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4}));
        QCOMPARE(values(*withRows(x, {0, 1}, 1)), (std::vector<float>{1, 2}));
        QCOMPARE(withRows(x, {}, 7)->shape(), x.shape());
        QCOMPARE(withRows(Tensor::zeros(DType::f32, {2, 0}), {0, 1}, 5)->shape(), (Shape{5, 0}));
        QVERIFY(!withRows(x, {3, 1}, 2)); // no such axis
        QVERIFY(!withRows(x, {0, 4}, 2)); // no whole row
        QVERIFY(!withRows(x, {0, 1}, std::int64_t{1} << 62));
    }

    // What is proven, seen: rows of a larger batch are the rows of smaller ones.
    void rowsAreTheSameInALargerBatch() {
        Net net({5, 6});
        const ValueId tokens = net.add("Reshape", {net.x, net.ints({-1, 6})});
        const Graph graph =
            net.finish(net.add("Softmax", {net.add("MatMul", {tokens, net.weights({6, 3})})}));
        proven(graph, 0, 5);
        const auto run = [&](std::int64_t rows) {
            const Graph bound = *inferShapes(graph, {{"n", rows}});
            Tensor x = Tensor::zeros(DType::f32, {rows, 5, 6});
            for (std::size_t i = 0; i < x.mutableData<float>().size(); ++i)
                x.mutableData<float>()[i] = std::sin(static_cast<float>(i));
            return (*Interpreter(bound).run({x}))[0];
        };
        const Tensor few = run(2), many = run(4);
        QVERIFY(std::ranges::equal(few.bytes(), many.bytes().first(few.byteCount())));
    }
};

QTEST_APPLESS_MAIN(TestIndependentRows)
#include "tst_independent_rows.moc"
