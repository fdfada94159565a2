// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "rewritten_model.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::rewrite;

namespace {

using Body = std::shared_ptr<const Graph>;

const TensorType kState(DType::f32, Shape{2, 4}), kNumber(DType::i64, Shape{}), kTruth(DType::boolean, Shape{});

Body bodyOf(GraphBuilder& builder) {
    builder.setOpset("", 17);
    return std::make_shared<const Graph>(take(builder.build()));
}

// state' = relu(state w), as often as an input says; w stands outside.
Body turningBody(const std::string& weights) {
    GraphBuilder body("turn");
    body.addInput("turn", kNumber);
    const ValueId on = body.addInput("on", kTruth), state = body.addInput("state", kState);
    const ValueId w = body.addCapture(weights, TensorType(DType::f32, Shape{4, 4}));
    body.setOutputs({body.add("Identity", {on}), body.add("Relu", {body.add("MatMul", {state, w})})});
    return bodyOf(body);
}

Body branch(const char* op, const std::string& weights) {
    GraphBuilder body(op);
    const ValueId x = body.addCapture("doubled", kState), w = body.addCapture(weights, TensorType(DType::f32, Shape{4, 4}));
    body.setOutputs({body.add(op, {body.add("MatMul", {x, w})})});
    return bodyOf(body);
}

Body scanningBody(const std::string& weights) {
    GraphBuilder body("scan");
    const ValueId state = body.addInput("state", TensorType(DType::f32, Shape{4})), row = body.addInput("row", TensorType(DType::f32, Shape{4}));
    const ValueId w = body.addCapture(weights, TensorType(DType::f32, Shape{4, 4}));
    const ValueId next = body.add("Add", {state, body.add("MatMul", {row, w})});
    body.setOutputs({next, body.add("Identity", {next})});
    return bodyOf(body);
}

// A loop within a branch: what it reads stands two graphs further out.
Body nestedBranch(const std::string& weights) {
    GraphBuilder body("nested");
    const ValueId x = body.addCapture("doubled", kState), turns = body.addCapture("turns", kNumber);
    Node loop;
    loop.op = "Loop";
    loop.inputs = {turns, ValueId(), x};
    loop.outputs = {body.addValue("looped", kState)};
    loop.attributes["body"] = turningBody(weights);
    body.addNode(loop);
    body.setOutputs(loop.outputs);
    return bodyOf(body);
}

// Something to be simplified, a node with bodies that read "weights", and something behind it.
struct Outside {
    Model m;
    ValueId x, w, doubled, turns, chosen;
    Outside() {
        x = m.graph.addInput("x", kState);
        turns = m.graph.addInput("turns", kNumber);
        chosen = m.graph.addInput("chosen", kTruth);
        w = m.graph.addConstant("weights", someNumbers({4, 4}, 5, -0.5, 0.5));
        doubled = m.add("Relu", {m.add("Relu", {m.add("Identity", {x})})}, {}, 1);
    }
    ValueId named(const std::string& op, const std::vector<ValueId>& inputs, const std::string& name) {
        Node node;
        node.op = op;
        node.inputs = inputs;
        node.outputs = {m.graph.addValue(name, kState)};
        m.graph.addNode(node);
        return node.outputs[0];
    }
    Graph build(ValueId result) { return m.build({m.add("Relu", {m.add("Relu", {result})})}); }
};

Graph modelOf(const std::string& kind) {
    Outside o;
    const ValueId doubled = o.named("Add", {o.doubled, o.doubled}, "doubled");
    if (kind == "loop" || kind == "loop, read outside, too") {
        Node loop;
        loop.op = "Loop";
        loop.inputs = {o.turns, ValueId(), doubled};
        loop.outputs = {o.m.graph.addValue("last", kState)};
        loop.attributes["body"] = turningBody("weights");
        o.m.graph.addNode(loop);
        return o.build(kind == "loop" ? loop.outputs[0] : o.m.add("Add", {loop.outputs[0], o.m.add("MatMul", {doubled, o.w})}));
    }
    if (kind == "scan") {
        const ValueId start = o.m.weight({4});
        Node scan;
        scan.op = "Scan";
        scan.inputs = {start, doubled};
        scan.outputs = {o.m.graph.addValue("end", TensorType(DType::f32, Shape{4})), o.m.graph.addValue("rows", kState)};
        scan.attributes = {{"body", scanningBody("weights")}, {"num_scan_inputs", std::int64_t(1)}};
        o.m.graph.addNode(scan);
        return o.build(scan.outputs[1]);
    }
    const bool twice = kind == "weights that are there twice";
    if (twice)
        o.m.graph.addConstant("again", someNumbers({4, 4}, 5, -0.5, 0.5));
    const Body otherwise = kind == "loop within a branch" ? nestedBranch("weights") : branch("Tanh", twice ? "again" : "weights");
    return o.build(o.m.add("If", {o.chosen}, {{"then_branch", branch("Relu", "weights")}, {"else_branch", otherwise}}));
}

std::string differenceAt(const Graph& before, const Graph& after, std::int64_t turns, bool chosen) {
    const std::vector<Tensor> inputs{someNumbers({2, 4}, 3), Tensor::scalar<std::int64_t>(turns), Tensor::scalar<bool>(chosen)};
    const auto a = Interpreter(before).run(inputs), b = Interpreter(after).run(inputs);
    if (!a.ok() || !b.ok())
        return a.ok() ? b.error().message : a.error().message;
    const Status same = requireEquivalent(*a, *b, {}, {});
    return same.ok() ? "" : same.error().message;
}

} // namespace

// What bodies of If, Loop and Scan read by name stays under that name, whatever is rewritten around them.
class Bodies : public QObject {
    Q_OBJECT

    static void addRows() {
        QTest::addColumn<QString>("kind");
        for (const char* kind : {"loop", "loop, read outside, too", "scan", "branches", "loop within a branch", "weights that are there twice"})
            QTest::newRow(kind) << QString(kind);
    }

private slots:
    void readWhatStandsOutside_data() { addRows(); }
    void readWhatStandsOutside() {
        QFETCH(QString, kind);
        const Graph before = modelOf(kind.toStdString());
        const ModelDraft model = take(draftOf(before));
        Draft draft = model.draft;
        QVERIFY(simplify(draft, writtenSubstitutions(), 20) >= 3); // Identity and a Relu before, a Relu behind
        for (const Graph& after : {take(graphOf(model, model.draft)), take(graphOf(model, draft)), take(foldConstants(take(graphOf(model, draft))))}) {
            QVERIFY(after.findValue("weights").valid());
            for (const std::int64_t turns : {0, 1, 3})
                for (const bool chosen : {false, true})
                    QCOMPARE(QString::fromStdString(differenceAt(before, after, turns, chosen)), QString());
        }
        const std::size_t copies = kind.contains("twice") ? 1 : 0; // of the same tensor under its other name
        QCOMPARE(take(graphOf(model, draft)).nodeCount(), before.nodeCount() - 3 + copies);
    }

    // Once, and not as a copy.
    void weightsAreWrittenOnce() {
        const ModelDraft model = take(draftOf(modelOf("loop, read outside, too")));
        const Graph after = take(graphOf(model, model.draft));
        QCOMPARE(std::ranges::count_if(after.nodes(), [](const auto& node) { return node->op == "Identity"; }), 1); // the model's own
        QCOMPARE(std::ranges::count_if(after.values(), [](const auto& value) { return value->isConstant() && value->constant.count() == 16; }), 1);
    }

    // A constant that is a result keeps that name, and bodies find it under theirs.
    void aResultThatIsConstant() {
        Outside o;
        const ValueId doubled = o.named("Add", {o.doubled, o.doubled}, "doubled");
        const ValueId result = o.m.add("If", {o.chosen}, {{"then_branch", branch("Relu", "weights")}, {"else_branch", branch("Tanh", "weights")}});
        const Graph before = o.m.build({result, o.w, doubled});
        const ModelDraft model = take(draftOf(before));
        const Graph after = take(graphOf(model, model.draft));
        QCOMPARE(after.value(after.outputs()[1]).name, std::string("weights"));
        QCOMPARE(QString::fromStdString(differenceAt(before, after, 1, true)), QString());
    }
};

QTEST_APPLESS_MAIN(Bodies)
#include "tst_bodies.moc"
