// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/graph/cut_out.h"
#include "core/graph/graph_builder.h"

using namespace tunesmith;

namespace {

const TensorType kVector(DType::f32, Shape{4});

// y = Relu(x + w), z = Neg(y), u = Exp(y); outputs y, u.
Graph sample() {
    GraphBuilder builder("whole");
    builder.setOpset("", 15);
    const ValueId x = builder.addInput("x", kVector);
    const ValueId w = builder.addConstant("w", Tensor::zeros(DType::f32, {4}));
    const ValueId sum = builder.add("Add", {x, w}, {}, 1, "sum");
    const ValueId y = builder.add("Relu", {sum}, {}, 1, "relu");
    builder.add("Neg", {y}, {}, 1, "neg");
    const ValueId u = builder.add("Exp", {y}, {}, 1, "exp");
    builder.setOutputs({y, u});
    return *builder.build();
}

std::vector<std::string> namesOf(const Graph& graph, const std::vector<ValueId>& ids) {
    std::vector<std::string> names;
    for (const ValueId id : ids)
        names.push_back(graph.value(id).name);
    return names;
}

} // namespace

class TestCutOut : public QObject {
    Q_OBJECT

private slots:
    void aPartReadsWhatItDoesNotMake() {
        const Graph whole = sample();
        const auto part = cutOut(whole, {whole.findNode("sum"), whole.findNode("relu")});
        QVERIFY(part.ok());
        QCOMPARE(part->graph.nodeCount(), std::size_t(2));
        QCOMPARE(namesOf(part->graph, part->graph.inputs()), std::vector<std::string>{"x"}); // w came along
        QCOMPARE(namesOf(part->graph, part->graph.outputs()), namesOf(whole, part->outputs));
        QCOMPARE(part->outputs, std::vector<ValueId>{whole.node(whole.findNode("relu")).outputs[0]});
        QCOMPARE(part->graph.opset(), std::int64_t(15));
    }

    void valuesBetweenPartsAreOutputsAndInputs() {
        const Graph whole = sample();
        const auto head = cutOut(whole, {whole.findNode("sum")});
        const auto rest = cutOut(whole, {whole.findNode("relu"), whole.findNode("exp")});
        QVERIFY(head.ok() && rest.ok());
        QCOMPARE(head->outputs, rest->inputs);
        QCOMPARE(rest->outputs.size(), std::size_t(2));
    }

    void whatNobodyReadsIsNoOutput() {
        const Graph whole = sample();
        const auto part = cutOut(whole, {whole.findNode("neg")});
        QVERIFY(part.ok());
        QVERIFY(part->outputs.empty());
    }

    void theWholeIsAPartOfItself() {
        const Graph whole = sample();
        std::vector<NodeId> all;
        for (std::size_t i = 0; i < whole.nodeCount(); ++i)
            all.push_back(NodeId(static_cast<std::int64_t>(i)));
        const auto part = cutOut(whole, all);
        QVERIFY(part.ok());
        QCOMPARE(part->graph.nodeCount(), whole.nodeCount());
        QCOMPARE(part->inputs, whole.inputs());
        QCOMPARE(part->outputs, whole.outputs());
    }

    void nothingIsAnEmptyGraph() {
        const auto part = cutOut(sample(), {});
        QVERIFY(part.ok());
        QCOMPARE(part->graph.nodeCount(), std::size_t(0));
    }

    // A body reads by name: what it reads is an input of the part with the node, and an output of the part that makes it.
    void bodiesReadAcrossTheCut() {
        GraphBuilder body("then");
        body.setOutputs({body.add("Identity", {body.addCapture("inner", kVector)})});
        const auto branch = std::make_shared<const Graph>(*body.build());
        GraphBuilder builder("whole");
        const ValueId x = builder.addInput("x", kVector);
        const ValueId c = builder.addInput("c", TensorType(DType::boolean, Shape{}));
        Node neg;
        neg.op = "Neg";
        neg.name = "neg";
        neg.inputs = {x};
        neg.outputs = {builder.addValue("inner", kVector)};
        builder.addNode(neg);
        builder.setOutputs({builder.add("If", {c}, {{"then_branch", branch}, {"else_branch", branch}}, 1, "if")});
        const Graph whole = *builder.build();
        const auto made = cutOut(whole, {whole.findNode("neg")}), used = cutOut(whole, {whole.findNode("if")});
        QVERIFY(made.ok() && used.ok());
        QCOMPARE(namesOf(whole, made->outputs), std::vector<std::string>{"inner"});
        QCOMPARE(namesOf(used->graph, used->graph.inputs()), (std::vector<std::string>{"c", "inner"}));
    }
};

QTEST_GUILESS_MAIN(TestCutOut)
#include "tst_cut_out.moc"
