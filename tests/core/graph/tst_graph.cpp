// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <functional>

#include "core/base/rng.h"
#include "core/graph/graph_builder.h"

using namespace tunesmith;

class GraphTest : public QObject {
    Q_OBJECT
private slots:
    void sortsNodes();
    void refusesCycles();
    void refusesTwoProducers();
    void refusesMissingProducers();
    void removalDropsWhatIsUnused();
    void replacesUses();
    void replacesUsesOfWhatCameLater();
    void constantsReplaceResults();
    void namesAreUnique();
    void bodiesOrderNodes();
    void hashIgnoresNamesAndOrder();
    void hashSeesDifferences_data();
    void hashSeesDifferences();
    void lineage();
    void versionsShareWhatIsTheSame();
    void namesOutliveTheGraph();
};

namespace {

using Ints = std::vector<std::int64_t>;
const TensorType kVector(DType::f32, Shape{4});

// y = Relu(x * w) + Neg(x), with the two branches added in either order.
GraphBuilder twoBranches(bool swapped, const std::string& prefix) {
    GraphBuilder builder(prefix);
    builder.setOpset("", 13);
    const ValueId x = builder.addInput(prefix + "x", kVector);
    ValueId left, right;
    const auto addRight = [&] { right = builder.add("Neg", {x}, {}, 1, prefix + "neg"); };
    if (swapped)
        addRight();
    const ValueId w = builder.addConstant(prefix + "w", Tensor::of<float>({4}, {1, 2, 3, 4}));
    const ValueId product = builder.add("Mul", {x, w}, {}, 1, prefix + "mul");
    left = builder.add("LeakyRelu", {product}, {{"alpha", 0.5f}}, 1, prefix + "relu");
    if (!swapped)
        addRight();
    builder.setOutputs({builder.add("Add", {left, right}, {}, 1, prefix + "sum")});
    return builder;
}

std::string errorOf(const GraphBuilder& builder) {
    const auto graph = builder.build();
    return graph.ok() ? "" : graph.error().message;
}

} // namespace

void GraphTest::sortsNodes() {
    GraphBuilder builder;
    const ValueId x = builder.addInput("x", kVector), middle = builder.addValue("middle"), last = builder.addValue("last");
    builder.addNode({"second", "Neg", "", {middle}, {last}, {}});
    builder.addNode({"first", "Relu", "", {x}, {middle}, {}});
    builder.setOutputs({last});
    const Graph graph = *builder.build();
    QCOMPARE(graph.node(NodeId(0)).name, std::string("first"));
    QCOMPARE(graph.value(graph.outputs()[0]).producer, NodeId(1));
    QVERIFY(std::ranges::equal(graph.consumers(graph.findValue("middle")), std::vector{NodeId(1)}));
    QCOMPARE(graph.findNode("second"), NodeId(1));
    QVERIFY(!graph.findValue("nothing").valid() && !graph.findNode("nothing").valid());
}

void GraphTest::refusesCycles() {
    GraphBuilder builder;
    const ValueId a = builder.addValue("a"), b = builder.addValue("b");
    builder.addNode({"n1", "Neg", "", {a}, {b}, {}});
    builder.addNode({"n2", "Neg", "", {b}, {a}, {}});
    builder.setOutputs({a});
    QCOMPARE(errorOf(builder), std::string("the graph has a cycle through node 'n1' (Neg)"));
}

void GraphTest::refusesTwoProducers() {
    GraphBuilder builder;
    const ValueId x = builder.addInput("x", kVector), y = builder.addValue("y");
    builder.addNode({"n1", "Neg", "", {x}, {y}, {}});
    builder.addNode({"n2", "Relu", "", {x}, {y}, {}});
    builder.setOutputs({y});
    QCOMPARE(errorOf(builder), std::string("value 'y' is produced twice, by node 'n1' and by node 'n2'"));
    GraphBuilder overInput;
    const ValueId in = overInput.addInput("in", kVector);
    overInput.addNode({"n", "Neg", "", {in}, {in}, {}});
    QVERIFY(!errorOf(overInput).empty());
}

void GraphTest::refusesMissingProducers() {
    GraphBuilder builder;
    const ValueId lost = builder.addValue("lost");
    builder.setOutputs({lost});
    QCOMPARE(errorOf(builder), std::string("output 'lost' is produced by no node"));
    builder.setOutputs({builder.add("Neg", {lost}, {}, 1, "n")});
    QCOMPARE(errorOf(builder), std::string("node 'n' (Neg) reads value 'lost', which nothing produces"));
}

void GraphTest::removalDropsWhatIsUnused() {
    GraphBuilder builder = twoBranches(false, "");
    const Graph graph = *builder.build();
    GraphBuilder edit(graph);
    const NodeId relu = graph.findNode("relu"), mul = graph.findNode("mul"), sum = graph.findNode("sum");
    edit.setOutputs({graph.node(graph.findNode("neg")).outputs[0]});
    for (const NodeId id : {relu, mul, sum})
        edit.removeNode(id);
    const Graph smaller = *edit.build();
    QCOMPARE(smaller.nodeCount(), std::size_t(1));
    QCOMPARE(smaller.valueCount(), std::size_t(2));
    QVERIFY(!smaller.findValue("w").valid());
    QCOMPARE(graph.nodeCount(), std::size_t(4));
    GraphBuilder broken(graph);
    broken.removeNode(mul);
    QVERIFY(!errorOf(broken).empty());
}

void GraphTest::replacesUses() {
    const Graph graph = *twoBranches(false, "").build();
    GraphBuilder edit(graph);
    const ValueId negated = graph.node(graph.findNode("neg")).outputs[0];
    edit.replaceUses(graph.outputs()[0], negated);
    edit.removeNode(graph.findNode("sum"));
    const Graph changed = *edit.build();
    QCOMPARE(changed.value(changed.outputs()[0]).name, graph.value(negated).name);
}

// Any order of additions and replacements gives what looking through all nodes each time would.
void GraphTest::replacesUsesOfWhatCameLater() {
    Rng rng(7);
    for (int round = 0; round < 50; ++round) {
        GraphBuilder builder("g");
        std::vector<ValueId> values;
        for (int i = 0; i < 4; ++i)
            values.push_back(builder.addInput("", kVector));
        std::vector<std::vector<ValueId>> reads; // of each node
        const auto any = [&] { return values[rng.below(values.size())]; };
        for (int step = 0; step < 60; ++step) {
            const std::vector<ValueId> inputs = {any(), any()};
            if (const auto choice = rng.below(4); choice < 2 || reads.empty()) {
                values.push_back(builder.add("Add", inputs));
                reads.push_back(inputs);
            } else if (choice == 2) {
                const ValueId from = any(), to = any();
                builder.replaceUses(from, to);
                for (auto& read : reads)
                    std::ranges::replace(read, from, to);
            } else {
                const NodeId id(static_cast<std::int64_t>(rng.below(reads.size())));
                Node node = builder.node(id);
                reads[id.index()] = node.inputs = inputs;
                builder.replaceNode(id, std::move(node));
            }
            for (std::size_t i = 0; i < reads.size(); ++i)
                QCOMPARE(builder.node(NodeId(static_cast<std::int64_t>(i))).inputs, reads[i]);
        }
    }
}

void GraphTest::constantsReplaceResults() {
    const Graph graph = *twoBranches(false, "").build();
    GraphBuilder edit(graph);
    edit.setConstant(graph.node(graph.findNode("neg")).outputs[0], Tensor::zeros(DType::f32, {4}));
    const Graph changed = *edit.build();
    QVERIFY(!changed.node(changed.findNode("neg")).outputs[0].valid());
    QVERIFY(changed.value(changed.node(changed.findNode("sum")).inputs[1]).isConstant());
}

void GraphTest::namesAreUnique() {
    GraphBuilder builder;
    const ValueId a = builder.addInput("x", kVector), b = builder.addInput("x", kVector), c = builder.addInput("", kVector);
    QCOMPARE(builder.value(a).name, std::string("x"));
    QVERIFY(builder.value(b).name != "x" && !builder.value(c).name.empty() && builder.value(b).name != builder.value(c).name);
}

// A node whose body reads a value only two bodies deep still comes after that value's producer.
void GraphTest::bodiesOrderNodes() {
    GraphBuilder inner("inner");
    inner.setOutputs({inner.add("Neg", {inner.addCapture("late", kVector)})});
    GraphBuilder outer("outer");
    const ValueId flag = outer.addConstant("flag", Tensor::scalar(true));
    const auto body = std::make_shared<const Graph>(*inner.build());
    outer.setOutputs({outer.add("If", {flag}, {{"then_branch", body}, {"else_branch", body}})});
    const auto nested = std::make_shared<const Graph>(*outer.build());
    GraphBuilder builder;
    const ValueId x = builder.addInput("x", kVector), c = builder.addInput("c", TensorType(DType::boolean, Shape{}));
    const ValueId late = builder.addValue("late"), y = builder.addValue("y");
    builder.addNode({"if", "If", "", {c}, {y}, {{"then_branch", nested}, {"else_branch", nested}}});
    builder.addNode({"maker", "Relu", "", {x}, {late}, {}});
    builder.setOutputs({y});
    const Graph graph = *builder.build();
    QCOMPARE(graph.node(NodeId(0)).name, std::string("maker"));
    QVERIFY(std::ranges::equal(graph.consumers(graph.findValue("late")), std::vector{NodeId(1)}));
}

void GraphTest::hashIgnoresNamesAndOrder() {
    const std::uint64_t hash = twoBranches(false, "a").build()->hash();
    QCOMPARE(twoBranches(true, "other_").build()->hash(), hash);
}

void GraphTest::hashSeesDifferences_data() {
    QTest::addColumn<int>("change");
    QTest::newRow("attribute") << 0;
    QTest::newRow("constant") << 1;
    QTest::newRow("opset") << 2;
    QTest::newRow("operator") << 3;
    QTest::newRow("input type") << 4;
    QTest::newRow("order of operands") << 5;
}

void GraphTest::hashSeesDifferences() {
    QFETCH(int, change);
    const Graph graph = *twoBranches(false, "").build();
    GraphBuilder edit(graph);
    const auto replace = [&](const char* name, const std::function<void(Node&)>& fn) {
        Node node = graph.node(graph.findNode(name));
        fn(node);
        edit.replaceNode(graph.findNode(name), node);
    };
    if (change == 0)
        replace("relu", [](Node& node) { node.attributes["alpha"] = 0.25f; });
    if (change == 1)
        edit.setConstant(graph.findValue("w"), Tensor::of<float>({4}, {1, 2, 3, 5}));
    if (change == 2)
        edit.setOpset("", 14);
    if (change == 3)
        replace("neg", [](Node& node) { node.op = "Abs"; });
    if (change == 4)
        edit.setType(graph.inputs()[0], TensorType(DType::f32, Shape{5}));
    if (change == 5)
        replace("sum", [](Node& node) { std::swap(node.inputs[0], node.inputs[1]); });
    QVERIFY(edit.build()->hash() != graph.hash());
}

// A version of a graph of a million nodes takes little more than the graph.
void GraphTest::versionsShareWhatIsTheSame() {
    const Graph base = *twoBranches(false, "g").build();
    GraphBuilder builder(base);
    builder.setType(base.outputs()[0], base.value(base.outputs()[0]).type);
    const Graph same = *builder.build();
    for (std::size_t i = 0; i < base.nodeCount(); ++i)
        QCOMPARE(same.nodes()[i], base.nodes()[i]);
    for (std::size_t i = 0; i < base.valueCount(); ++i)
        QCOMPARE(same.values()[i], base.values()[i]);
    builder.setType(base.inputs()[0], TensorType(DType::f32, Shape{8}));
    builder.replaceUses(base.inputs()[0], builder.addInput("other", kVector));
    const Graph changed = *builder.build();
    QVERIFY(base.value(base.inputs()[0]).type == kVector && same.value(same.inputs()[0]).type == kVector);
    QCOMPARE(same.hash(), base.hash());
    QVERIFY(changed.hash() != base.hash());
}

// A builder knows which names are taken after the graphs that had them are gone.
void GraphTest::namesOutliveTheGraph() {
    GraphBuilder builder(*twoBranches(false, "g").build());
    const std::string name = builder.value(ValueId(0)).name, node = builder.node(NodeId(0)).name;
    builder.addValue("fresh");
    builder.setConstant(ValueId(0), Tensor::ofInts({1, 2}));
    builder.replaceNode(NodeId(0), builder.node(NodeId(0)));
    QVERIFY(builder.value(builder.addValue(name)).name != name);
    QVERIFY(builder.value(builder.addValue("fresh")).name != "fresh");
    Node twin;
    twin.name = node;
    twin.op = "Relu";
    QVERIFY(builder.node(builder.addNode(twin)).name != node);
}

void GraphTest::lineage() {
    const auto parent = std::make_shared<const Graph>(*twoBranches(false, "").build());
    QVERIFY(!parent->lineage());
    GraphBuilder edit(*parent);
    edit.setLineage(std::make_shared<const Lineage>(Lineage{parent, "nothing", {{NodeId(0), {}}}}));
    const Graph child = *edit.build();
    QCOMPARE(child.lineage()->rule, std::string("nothing"));
    QCOMPARE(child.lineage()->parent->hash(), child.hash());
    QVERIFY(child.lineage()->became.at(NodeId(0)).empty());
}

QTEST_APPLESS_MAIN(GraphTest)
#include "tst_graph.moc"
