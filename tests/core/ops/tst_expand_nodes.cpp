// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/graph/graph_builder.h"
#include "core/ops/expand_nodes.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/interpreter.h"
#include "op_case.h"
#include "tests/take.h"

using namespace tunesmith;

namespace {

using Attributes = std::map<std::string, Attribute>;
using Body = std::shared_ptr<const Graph>;
using Strings = std::vector<std::string>;

const TensorType kPair(DType::f32, Shape{2}), kTruth(DType::boolean, Shape{});

Body bodyOf(GraphBuilder& builder) { return std::make_shared<const Graph>(take(inferShapes(take(builder.build())))); }

std::size_t countOf(const Graph& graph, const std::string& op) {
    return static_cast<std::size_t>(std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node->op == op; }));
}

// The expansion gives the same numbers under the same names, and `gone` is gone.
void compareExpansion(GraphBuilder& builder, const std::string& gone) {
    const Graph model = take(inferShapes(take(builder.build())));
    const Graph expanded = take(expandNodes(model));
    QCOMPARE(countOf(expanded, gone), std::size_t(0));
    for (std::size_t i = 0; i < model.outputs().size(); ++i) {
        QCOMPARE(expanded.value(expanded.outputs()[i]).name, model.value(model.outputs()[i]).name);
        QVERIFY(expanded.value(expanded.outputs()[i]).type.isStatic());
    }
    for (const std::uint64_t seed : {1, 2, 3}) {
        const auto inputs = take(randomInputs(model, seed));
        const Status same = requireEquivalent(take(Interpreter(model).run(inputs)), take(Interpreter(expanded).run(inputs)));
        QVERIFY2(same.ok(), same.ok() ? "" : same.error().message.c_str());
    }
}

void refuses(GraphBuilder& builder, const std::string& op, const char* why) {
    const Graph model = take(inferShapes(take(builder.build())));
    const Graph expanded = take(expandNodes(model));
    QCOMPARE(countOf(expanded, op), std::size_t(1));
    const auto found = std::ranges::find_if(model.nodes(), [&](const auto& node) { return node->op == op; });
    const Status status = checkExpandable(model, NodeId(found - model.nodes().begin()));
    QVERIFY2(!status.ok() && status.error().message.find(why) != std::string::npos, status.ok() ? "expanded" : status.error().message.c_str());
}

struct Layer {
    const char* op;
    std::int64_t gates;
    Attributes attributes;
    bool bias = true, states = false, peepholes = false, lengths = false;
    std::int64_t opset = 14;
};

// A layer of 4 steps, 3 sequences, 5 inputs and 6 hidden units; all outputs wanted.
void addLayer(GraphBuilder& b, const Layer& layer, bool runtimeLengths = false) {
    b.setOpset("", layer.opset);
    Rng rng(7);
    const auto weights = [&](const Shape& shape) { return b.addConstant("", randomTensor(rng, DType::f32, shape, -0.7, 0.7)); };
    const bool both = layer.attributes.contains("direction") && std::get<std::string>(layer.attributes.at("direction")) == "bidirectional";
    const bool batchFirst = layer.attributes.contains("layout");
    const std::int64_t d = both ? 2 : 1, h = 6;
    const Shape state = batchFirst ? Shape{3, d, h} : Shape{d, 3, h};
    Node node;
    node.op = layer.op;
    node.attributes = layer.attributes;
    node.attributes["hidden_size"] = h;
    node.inputs = {b.addInput("x", TensorType(DType::f32, batchFirst ? Shape{3, 4, 5} : Shape{4, 3, 5})), weights({d, layer.gates * h, 5}),
                   weights({d, layer.gates * h, h})};
    const bool lstm = layer.gates == 4;
    node.inputs.resize(lstm ? 8 : 6);
    if (layer.bias)
        node.inputs[3] = weights({d, 2 * layer.gates * h});
    if (layer.lengths)
        node.inputs[4] = b.addConstant("", Tensor::of<std::int32_t>({3}, {4, 4, 4}));
    if (runtimeLengths)
        node.inputs[4] = b.addInput("lengths", TensorType(DType::i32, Shape{3}));
    if (layer.states)
        node.inputs[5] = b.addInput("h0", TensorType(DType::f32, state));
    if (layer.states && lstm)
        node.inputs[6] = b.addInput("c0", TensorType(DType::f32, state));
    if (layer.peepholes)
        node.inputs[7] = weights({d, 3 * h});
    for (int i = 0; i < (lstm ? 3 : 2); ++i)
        node.outputs.push_back(b.addValue("y" + std::to_string(i)));
    b.addNode(node);
    b.setOutputs(node.outputs);
}

const std::vector<std::pair<const char*, Layer>>& layers() {
    const std::string both = "bidirectional", back = "reverse";
    static const std::vector<std::pair<const char*, Layer>> table{
        {"LSTM", {"LSTM", 4, {}}},
        {"LSTM without bias, from states", {"LSTM", 4, {}, false, true}},
        {"LSTM both ways with peepholes", {"LSTM", 4, {{"direction", both}}, true, true, true}},
        {"LSTM backwards, clipped, coupled", {"LSTM", 4, {{"direction", back}, {"clip", 0.4F}, {"input_forget", std::int64_t{1}}}}},
        {"LSTM batch first", {"LSTM", 4, {{"layout", std::int64_t{1}}, {"direction", both}}, true, true}},
        {"LSTM with full lengths", {"LSTM", 4, {}, true, false, false, true}},
        {"LSTM of opset 7, clipped", {"LSTM", 4, {{"clip", 0.3F}}, true, true, true, false, 7}},
        {"LSTM other functions", {"LSTM", 4, {{"activations", Strings{"HardSigmoid", "ScaledTanh", "Affine"}}, {"activation_alpha", std::vector<float>{0.3F, 1.5F, 0.8F}}, {"activation_beta", std::vector<float>{0.4F, 0.6F, 0.1F}}}}},
        {"GRU", {"GRU", 3, {}}},
        {"GRU linear before reset", {"GRU", 3, {{"linear_before_reset", std::int64_t{1}}}, true, true}},
        {"GRU linear before reset, no bias, both ways", {"GRU", 3, {{"linear_before_reset", std::int64_t{1}}, {"direction", both}}, false}},
        {"GRU other functions", {"GRU", 3, {{"activations", Strings{"Softsign", "LeakyRelu"}}, {"activation_alpha", std::vector<float>{0.2F}}}}},
        {"RNN", {"RNN", 1, {}}},
        {"RNN both ways, Relu and Elu", {"RNN", 1, {{"direction", both}, {"activations", Strings{"Relu", "Elu"}}}, true, true}},
        {"RNN Softplus", {"RNN", 1, {{"activations", Strings{"Softplus"}}}}},
    };
    return table;
}

// state' = state + x; gathers state' * turn.
Body summingBody(bool goesOn) {
    GraphBuilder body("sum");
    const ValueId turn = body.addInput("turn", TensorType(DType::i64, Shape{})), on = body.addInput("on", kTruth);
    const ValueId state = body.addInput("state", kPair), x = body.addCapture("x", kPair);
    const ValueId next = body.add("Add", {state, x});
    const ValueId scaled = body.add("Mul", {next, body.add("Cast", {turn}, {{"to", std::int64_t{1}}})});
    const ValueId small = body.add("Less", {body.add("ReduceSum", {next}, {{"keepdims", std::int64_t{0}}}), body.addConstant("", Tensor::scalar(1.5F))});
    body.setOutputs({goesOn ? body.add("Identity", {on}) : small, next, scaled});
    return bodyOf(body);
}

void addLoop(GraphBuilder& b, ValueId turns, const Body& body) {
    b.setOpset("", 17);
    b.addInput("x", kPair);
    Node loop;
    loop.op = "Loop";
    loop.inputs = {turns, ValueId(), b.addConstant("", Tensor::of<float>({2}, {1, 2}))};
    loop.outputs = {b.addValue("last"), b.addValue("all")};
    loop.attributes["body"] = body;
    b.addNode(loop);
    b.setOutputs(loop.outputs);
}

Body branch(const char* op, const Shape& shape = {2}) {
    GraphBuilder body(op);
    const ValueId x = body.addCapture("x", kPair);
    const ValueId value = body.add(op, {x});
    body.setOutputs({shape == Shape{2} ? value : body.add("Concat", {value, value}, {{"axis", std::int64_t{0}}})});
    return bodyOf(body);
}

void addChoice(GraphBuilder& b, ValueId condition, const Body& then, const Body& otherwise) {
    b.setOpset("", 17);
    b.addInput("x", kPair);
    b.setOutputs({b.add("If", {condition}, {{"then_branch", then}, {"else_branch", otherwise}}, 1, "chosen")});
}

} // namespace

class TestExpandNodes : public QObject {
    Q_OBJECT

private slots:
    void recurrentLayers_data() {
        QTest::addColumn<int>("layer");
        for (std::size_t i = 0; i < layers().size(); ++i)
            QTest::newRow(layers()[i].first) << static_cast<int>(i);
    }
    void recurrentLayers() {
        QFETCH(int, layer);
        const Layer& given = layers()[static_cast<std::size_t>(layer)].second;
        GraphBuilder builder;
        addLayer(builder, given);
        compareExpansion(builder, given.op);
    }

    void lengthsThatAreNotKnownStay() {
        GraphBuilder builder;
        addLayer(builder, {"GRU", 3, {}}, true);
        refuses(builder, "GRU", "lengths of its sequences");
    }

    void openDimensionsStay() {
        GraphBuilder builder;
        builder.setOpset("", 14);
        Rng rng(1);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Dims{Dim::named("time"), Dim(1), Dim(2)}));
        builder.setOutputs({builder.add("RNN", {x, builder.addConstant("", randomTensor(rng, DType::f32, {1, 2, 2})), builder.addConstant("", randomTensor(rng, DType::f32, {1, 2, 2}))})});
        refuses(builder, "RNN", "known when it runs");
    }

    void loopsBecomeTheirTurns() {
        for (const std::int64_t turns : {-1, 0, 1, 4}) {
            GraphBuilder builder;
            addLoop(builder, builder.addConstant("", Tensor::scalar(turns)), summingBody(true));
            compareExpansion(builder, "Loop");
        }
    }

    // However many turns are allowed: the condition is false at the start.
    void loopsThatNeverStartGiveWhatTheyWereGiven() {
        GraphBuilder builder;
        builder.setOpset("", 17);
        builder.addInput("x", kPair);
        Node loop;
        loop.op = "Loop";
        loop.inputs = {builder.addInput("turns", TensorType(DType::i64, Shape{})), builder.addConstant("", Tensor::scalar(false)),
                       builder.addConstant("", Tensor::of<float>({2}, {1, 2}))};
        loop.outputs = {builder.addValue("last"), builder.addValue("all")};
        loop.attributes["body"] = summingBody(true);
        builder.addNode(loop);
        builder.setOutputs(loop.outputs);
        compareExpansion(builder, "Loop");
    }

    void loopsOfUnknownLengthStay() {
        GraphBuilder open;
        addLoop(open, open.addInput("turns", TensorType(DType::i64, Shape{})), summingBody(true));
        refuses(open, "Loop", "how often it turns");
        GraphBuilder ending;
        addLoop(ending, ending.addConstant("", Tensor::scalar(std::int64_t{5})), summingBody(false));
        refuses(ending, "Loop", "whether it goes on");
        GraphBuilder endless;
        addLoop(endless, endless.addConstant("", Tensor::scalar(std::int64_t{1} << 40)), summingBody(true));
        refuses(endless, "Loop", "too many");
    }

    void scansBecomeTheirTurns() {
        GraphBuilder body("scan");
        const ValueId state = body.addInput("s", kPair), a = body.addInput("a", kPair), b = body.addInput("b", kPair);
        const ValueId next = body.add("Sub", {body.add("Mul", {state, a}), b});
        body.setOutputs({next, body.add("Abs", {next}), body.add("Neg", {a})});
        GraphBuilder builder;
        builder.setOpset("", 17);
        Node scan;
        scan.op = "Scan";
        scan.inputs = {builder.addInput("s", kPair), builder.addInput("a", TensorType(DType::f32, Shape{3, 2})), builder.addInput("b", TensorType(DType::f32, Shape{2, 3}))};
        for (const char* name : {"last", "absolute", "negative"})
            scan.outputs.push_back(builder.addValue(name));
        scan.attributes = {{"body", bodyOf(body)},
                           {"num_scan_inputs", std::int64_t{2}},
                           {"scan_input_axes", Ints{0, 1}},
                           {"scan_input_directions", Ints{0, 1}},
                           {"scan_output_axes", Ints{0, -1}},
                           {"scan_output_directions", Ints{1, 0}}};
        builder.addNode(scan);
        builder.setOutputs(scan.outputs);
        compareExpansion(builder, "Scan");
    }

    void knownChoicesTakeTheirBranch() {
        GraphBuilder builder;
        addChoice(builder, builder.addConstant("", Tensor::of<bool>({1}, std::array<bool, 1>{false})), branch("Exp"), branch("Neg", {4}));
        compareExpansion(builder, "If");
        const Graph expanded = take(expandNodes(take(inferShapes(take(builder.build())))));
        QCOMPARE(countOf(expanded, "Exp") + countOf(expanded, "Where"), std::size_t(0));
    }

    void openChoicesComputeBoth() {
        GraphBuilder builder;
        addChoice(builder, builder.addInput("condition", TensorType(DType::boolean, Shape{1})), branch("Exp"), branch("Neg"));
        compareExpansion(builder, "If");
    }

    void choicesBetweenShapesStay() {
        GraphBuilder builder;
        addChoice(builder, builder.addInput("condition", kTruth), branch("Exp"), branch("Neg", {4}));
        refuses(builder, "If", "different shapes");
    }

    void bodiesWithinBodies() {
        GraphBuilder body("outer");
        body.addInput("turn", TensorType(DType::i64, Shape{}));
        const ValueId on = body.addInput("on", kTruth), state = body.addInput("state", kPair);
        const ValueId x = body.add("Add", {state, state}, {}, 1, "x"); // hides the outer x
        const ValueId big = body.add("Less", {body.add("ReduceSum", {x}, {{"keepdims", std::int64_t{0}}}), body.addConstant("", Tensor::scalar(9.0F))});
        body.setOutputs({on, body.add("If", {big}, {{"then_branch", branch("Exp")}, {"else_branch", branch("Neg")}}), state});
        GraphBuilder builder;
        addLoop(builder, builder.addConstant("", Tensor::scalar(std::int64_t{3})), bodyOf(body));
        compareExpansion(builder, "If");
        compareExpansion(builder, "Loop");
    }

    void scattersAtKnownPlaces_data() {
        QTest::addColumn<QString>("op");
        QTest::addColumn<Shape>("data");
        QTest::addColumn<Shape>("places");
        QTest::addColumn<std::vector<std::int64_t>>("indices");
        QTest::addColumn<Shape>("updates");
        QTest::addColumn<int>("axis"); // below -9: none
        QTest::newRow("rows") << "ScatterND" << Shape{4, 3} << Shape{2, 1} << std::vector<std::int64_t>{3, 1} << Shape{2, 3} << -10;
        QTest::newRow("from the back, twice") << "ScatterND" << Shape{4, 3} << Shape{3, 1} << std::vector<std::int64_t>{-1, 0, 3} << Shape{3, 3} << -10;
        QTest::newRow("elements") << "ScatterND" << Shape{2, 3} << Shape{1, 2, 2} << std::vector<std::int64_t>{1, 2, 0, -3} << Shape{1, 2} << -10;
        QTest::newRow("all rows") << "ScatterND" << Shape{2, 3} << Shape{2, 1} << std::vector<std::int64_t>{1, 0} << Shape{2, 3} << -10;
        QTest::newRow("no update") << "ScatterND" << Shape{2, 3} << Shape{0, 1} << std::vector<std::int64_t>{} << Shape{0, 3} << -10;
        QTest::newRow("along the last axis") << "ScatterElements" << Shape{2, 5} << Shape{2, 2} << std::vector<std::int64_t>{1, -1, 0, 0} << Shape{2, 2} << -1;
        QTest::newRow("along the first axis") << "ScatterElements" << Shape{3, 2} << Shape{1, 2} << std::vector<std::int64_t>{2, 1} << Shape{1, 2} << 0;
    }
    void scattersAtKnownPlaces() {
        QFETCH(QString, op);
        QFETCH(Shape, data);
        QFETCH(Shape, places);
        QFETCH(std::vector<std::int64_t>, indices);
        QFETCH(Shape, updates);
        QFETCH(int, axis);
        GraphBuilder builder;
        builder.setOpset("", 16);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, data)), u = builder.addInput("u", TensorType(DType::f32, updates));
        const Attributes attributes = axis < -9 ? Attributes{} : Attributes{{"axis", std::int64_t(axis)}};
        builder.setOutputs({builder.add(op.toStdString(), {x, builder.addConstant("", Tensor::of<std::int64_t>(places, indices)), u}, attributes)});
        compareExpansion(builder, op.toStdString());
    }

    void scattersAtUnknownPlacesStay_data() {
        QTest::addColumn<int>("index"); // negative: an input of the model
        QTest::addColumn<QString>("reduction");
        QTest::addColumn<QString>("why");
        QTest::newRow("data") << -1 << "none" << "indices are known";
        QTest::newRow("sums") << 1 << "add" << "combines nothing";
        QTest::newRow("out of range") << 4 << "none" << "index 4 is out of range";
    }
    void scattersAtUnknownPlacesStay() {
        QFETCH(int, index);
        QFETCH(QString, reduction);
        QFETCH(QString, why);
        GraphBuilder builder;
        builder.setOpset("", 16);
        const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{4})), u = builder.addInput("u", TensorType(DType::f32, Shape{1}));
        const ValueId place = index < 0 ? builder.addInput("i", TensorType(DType::i64, Shape{1, 1})) : builder.addConstant("", Tensor::of<std::int64_t>({1, 1}, std::vector<std::int64_t>{index}));
        builder.setOutputs({builder.add("ScatterND", {x, place, u}, {{"reduction", reduction.toStdString()}})});
        refuses(builder, "ScatterND", qPrintable(why));
    }

    // Loops in loops: each level multiplies those in the bodies before it adds a node of the graph itself.
    void bodiesCountAsNodes() {
        constexpr int kDeep = 6;
        Body body = summingBody(true);
        for (int i = 0; i < kDeep; ++i) {
            GraphBuilder outer("outer");
            outer.addInput("turn", TensorType(DType::i64, Shape{}));
            const ValueId on = outer.addInput("on", kTruth), state = outer.addInput("state", kPair);
            outer.addCapture("x", kPair);
            const ValueId turns = outer.addConstant("", Tensor::scalar(std::int64_t{10}));
            const ValueId next = outer.add("Loop", {turns, ValueId(), state}, {{"body", body}}, 2);
            outer.setOutputs({on, next, next});
            body = bodyOf(outer);
        }
        GraphBuilder builder;
        addLoop(builder, builder.addConstant("", Tensor::scalar(std::int64_t{10})), body);
        ExpandOptions options;
        options.mostNodes = 1000;
        const Graph expanded = take(expandNodes(take(inferShapes(take(builder.build()))), options));
        QVERIFY(countOf(expanded, "Loop") > 1);
        QVERIFY2(expanded.nodeCount() < 400, qPrintable(QString::number(expanded.nodeCount())));
    }

    void aGraphThatWouldGrowTooMuchKeepsTheNode() {
        GraphBuilder builder;
        addLoop(builder, builder.addConstant("", Tensor::scalar(std::int64_t{4})), summingBody(true));
        ExpandOptions options;
        options.mostNodes = 1;
        QCOMPARE(countOf(take(expandNodes(take(inferShapes(take(builder.build()))), options)), "Loop"), std::size_t(1));
    }
};

QTEST_APPLESS_MAIN(TestExpandNodes)
#include "tst_expand_nodes.moc"
