// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes of whose inputs not even the rank is known, or which no shape rule has accepted: none is written out, none ends the program.
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/coverage.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Attributes = std::map<std::string, Attribute>;
const TensorType kUnknown(DType::f32), kScalar(DType::f32, Shape{}), kSequence = TensorType::sequenceOf(TensorType(DType::i32));

// A model of one node; inputs of type `undefined` that are no container are left out.
Result<Graph> modelOf(const std::string& op, const std::vector<TensorType>& types, Attributes attributes = {}, int outputs = 1, std::int64_t opset = 14) {
    GraphBuilder builder("m");
    builder.setOpset("", opset);
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < types.size(); ++i)
        inputs.push_back(types[i].opaque || types[i].dtype != DType::undefined ? builder.addInput("x" + std::to_string(i), types[i]) : ValueId());
    builder.add(op, inputs, std::move(attributes), outputs, "node");
    builder.setOutputs(builder.node(NodeId(0)).outputs);
    TS_ASSIGN(const Graph graph, builder.build());
    return inferShapes(graph);
}

std::shared_ptr<const Graph> bodyOf(const std::vector<TensorType>& inputs, std::size_t outputs) {
    GraphBuilder body("body");
    std::vector<ValueId> given, same;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        given.push_back(body.addInput("b" + std::to_string(i), inputs[i]));
    for (std::size_t i = 0; i < outputs; ++i)
        same.push_back(body.add("Identity", {given[i]}, {}, 1, "same" + std::to_string(i)));
    body.setOutputs(same);
    return std::make_shared<const Graph>(take(body.build()));
}

TensorType f32(const Shape& shape) { return {DType::f32, shape}; }

} // namespace

class TestUnknownShapes : public QObject {
    Q_OBJECT

private slots:
    // The list may have been declared by a file that is wrong about it; running says what it holds.
    void reshapesToAnEmptyInput() {
        const TensorType none(DType::i64, Shape{0});
        const Tensor list = Tensor::zeros(DType::i64, {0});
        for (const Shape& shape : {Shape{2, 3}, Shape{0}, Shape{1, 1}}) {
            const Graph graph = take(modelOf("Reshape", {f32(shape), none}));
            QVERIFY(!graph.value(graph.outputs()[0]).type.dims);
            const Coverage found = coverage(graph);
            QVERIFY(found.notComputed.empty());
            QCOMPARE(found.notCompiled.size(), std::size_t(1));
            const auto run = Interpreter(graph).run(std::vector{Tensor::zeros(DType::f32, shape), list});
            QCOMPARE(run.ok(), elementCount(shape) == 1);
            if (run.ok())
                QCOMPARE((*run)[0].shape(), Shape{});
            else
                QVERIFY2(run.error().message.find("cannot reshape") != std::string::npos, run.error().message.c_str());
        }
    }

    void layersOfUnknownWeights() {
        const std::vector<TensorType> all{f32({4, 3, 5}), f32({1, 24, 5}), f32({1, 24, 6}), f32({1, 48}), TensorType(), f32({1, 3, 6}), f32({1, 3, 6}), f32({1, 18})};
        QVERIFY(checkExpandable(take(modelOf("LSTM", all, {{"hidden_size", std::int64_t{6}}}, 3)), NodeId(0)).ok());
        for (const std::size_t unknown : {0, 1, 2, 3, 5, 6, 7}) {
            std::vector<TensorType> types = all;
            types[unknown] = kUnknown;
            const Graph graph = take(modelOf("LSTM", types, {{"hidden_size", std::int64_t{6}}}, 3));
            const Status status = checkExpandable(graph, NodeId(0));
            QVERIFY2(!status.ok() && status.error().message.find("the shape of input " + std::to_string(unknown)) != std::string::npos, problemOf(status).c_str());
            QCOMPARE(take(expandNodes(graph)).nodeCount(), std::size_t(1));
        }
    }

    void nodesThatNoRuleAccepted_data() {
        QTest::addColumn<std::string>("op");
        QTest::addColumn<std::vector<TensorType>>("types");
        QTest::addColumn<Attributes>("attributes");
        QTest::addColumn<int>("opset");
        const auto row = [](const char* name, const char* op, std::vector<TensorType> types, Attributes attributes, int opset = 27) {
            QTest::newRow(name) << std::string(op) << std::move(types) << std::move(attributes) << opset;
        };
        const std::int64_t one = 1, two = 2;
        row("convolution of two axes", "CausalConvWithState", {kScalar, kScalar}, {{"ndim", two}});
        row("window of a convolution", "CausalConvWithState", {kScalar, kScalar}, {{"state_window", one}});
        row("window of linear attention", "LinearAttention", {kScalar, kScalar, kScalar}, {{"update_rule", std::string("linear")}, {"state_window", one}, {"q_num_heads", one}, {"kv_num_heads", one}});
        row("lengths that are a sequence", "LSTM", {kScalar, f32({1, 24, 5}), f32({1, 24, 6}), TensorType(), kSequence}, {{"hidden_size", std::int64_t{6}}}, 14);
        row("scan of a scalar", "Scan", {kSequence, kScalar}, {{"num_scan_inputs", one}, {"body", bodyOf({kUnknown, kUnknown}, 2)}}, 14);
        row("scan along axis 99", "Scan", {kSequence, f32({2})}, {{"num_scan_inputs", one}, {"scan_input_axes", std::vector<std::int64_t>{99}}, {"body", bodyOf({kUnknown, kUnknown}, 2)}}, 14);
        row("loop of too few states", "Loop", {kSequence, TensorType(DType::boolean, Shape{})}, {{"body", bodyOf({TensorType(DType::i64), TensorType(DType::boolean), kUnknown, kUnknown, kUnknown}, 4)}}, 14);
        row("choice by a sequence", "If", {kSequence}, {{"then_branch", bodyOf({}, 0)}, {"else_branch", bodyOf({}, 0)}}, 14);
    }
    void nodesThatNoRuleAccepted() {
        QFETCH(std::string, op);
        QFETCH(std::vector<TensorType>, types);
        QFETCH(Attributes, attributes);
        QFETCH(int, opset);
        const Graph graph = take(modelOf(op, types, attributes, 1, opset));
        QVERIFY(!coverage(graph).notComputed.empty());
        QVERIFY(!checkExpandable(graph, NodeId(0)).ok());
        QCOMPARE(take(expandNodes(graph)).nodeCount(), std::size_t(1));
    }
};

QTEST_APPLESS_MAIN(TestUnknownShapes)
#include "tst_unknown_shapes.moc"
