// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/graph_builder.h"
#include "core/workbench/replay.h"
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>

using namespace tunesmith;

namespace {

const TensorType kType{DType::f32, Shape{4, 4}};

// A chain of operators from x to y. `was` names, for each, the node of the first graph that it is; empty: a rule made it.
struct Link {
    const char *op, *was;
};

Graph chain(const std::vector<Link>& links, const Graph* first = nullptr) {
    GraphBuilder builder;
    ValueId at = builder.addInput("x", kType);
    auto lineage = std::make_shared<Lineage>();
    for (const auto& node : first ? first->nodes() : std::vector<std::shared_ptr<const Node>>())
        lineage->became[first->findNode(node->name)] = {};
    for (std::size_t i = 0; i < links.size(); ++i) {
        Node node;
        node.op = links[i].op;
        node.name = links[i].was;
        node.inputs = {at};
        at = builder.addValue(i + 1 == links.size() ? "y" : "", kType);
        node.outputs = {at};
        const NodeId id = builder.addNode(node);
        if (first && *links[i].was)
            lineage->became[first->findNode(links[i].was)] = {id};
    }
    builder.setOutputs({at});
    if (first) {
        lineage->parent = std::make_shared<const Graph>(*first);
        builder.setLineage(lineage);
    }
    return *builder.build();
}

using Turns = std::vector<int>;

Turns turnsOf(const ReplayPicture& replay, const std::string& title) {
    const auto& nodes = replay.picture.nodes;
    const auto found = std::ranges::find(nodes, title, &PictureNode::title);
    return found == nodes.end() ? Turns{-1} : replay.nodeTurns[static_cast<std::size_t>(found - nodes.begin())];
}

bool isThere(const Turns& turns, int graph) { return std::ranges::count_if(turns, [&](int turn) { return turn <= graph; }) % 2 == 1; }

OptimizedModel optimized(const std::string& sample) {
    OptimizeRequest request;
    request.cost = "kernels";
    return optimizeModel(openModel(sample).value(), request).value();
}

} // namespace

class TstReplay : public QObject {
    Q_OBJECT
private slots:
    void nodesComeAndGo() {
        const Graph first = chain({{"Relu", "a"}, {"Tanh", "b"}, {"Sigmoid", "c"}});
        const Graph second = chain({{"Relu", "a"}, {"Neg", ""}, {"Abs", ""}, {"Sigmoid", "c"}}, &first);
        const auto replay = drawReplay(std::vector{first, second});
        QVERIFY(replay.ok());
        QCOMPARE(replay->graphs, 2);
        QCOMPARE(replay->picture.nodes.size(), std::size_t(7)); // with x and y
        for (const char* kept : {"x", "Relu", "Sigmoid", "y"})
            QCOMPARE(turnsOf(*replay, kept), Turns({0}));
        QCOMPARE(turnsOf(*replay, "Tanh"), Turns({0, 1}));
        QCOMPARE(turnsOf(*replay, "Neg"), Turns({1}));
        QCOMPARE(turnsOf(*replay, "Abs"), Turns({1}));
    }

    void aNodeThatARuleMadeKeepsItsPlaceWhenItReadsSomethingElse() {
        const Graph first = chain({{"Relu", "a"}, {"Tanh", "b"}, {"Sigmoid", "c"}});
        const Graph second = chain({{"Relu", "a"}, {"Neg", ""}, {"Sigmoid", "c"}}, &first);
        const Graph third = chain({{"Abs", ""}, {"Neg", ""}, {"Sigmoid", "c"}}, &first);
        const auto replay = drawReplay(std::vector{first, second, third});
        QVERIFY(replay.ok());
        QCOMPARE(turnsOf(*replay, "Neg"), Turns({1}));
        QCOMPARE(turnsOf(*replay, "Relu"), Turns({0, 2}));
        QCOMPARE(turnsOf(*replay, "Abs"), Turns({2}));
    }

    void whatComesAgainHasItsOldPlace() {
        const Graph first = chain({{"Relu", "a"}, {"Tanh", "b"}});
        const Graph second = chain({{"Neg", ""}, {"Tanh", "b"}}, &first);
        const Graph third = chain({{"Abs", ""}, {"Tanh", "b"}}, &first);
        const auto replay = drawReplay(std::vector{first, second, third, second, first});
        QVERIFY(replay.ok());
        QCOMPARE(turnsOf(*replay, "Neg"), Turns({1, 2, 3, 4}));
        QCOMPARE(turnsOf(*replay, "Abs"), Turns({2, 3}));
    }

    void cancels() {
        StopSource stop;
        stop.requestStop();
        const auto replay = drawReplay(std::vector{chain({{"Relu", "a"}})}, stop.token());
        QVERIFY(!replay.ok() && replay.error().isCancelled());
    }

    void nothingToReplay() {
        const auto replay = drawReplay({});
        QVERIFY(replay.ok() && replay->picture.nodes.empty());
    }

    // Whatever the matching does: at every step the picture has the nodes of that graph, no more, and lines between them only.
    void everyStepIsItsGraph() {
        const OptimizedModel made = optimized("encoder");
        QVERIFY(!made.steps.empty());
        const std::vector<Graph> graphs = graphsOf(made);
        const auto replay = drawReplay(graphs);
        QVERIFY(replay.ok());
        for (int graph = 0; graph < replay->graphs; ++graph) {
            std::map<std::string, int> drawn;
            for (std::size_t i = 0; i < replay->picture.nodes.size(); ++i)
                if (isThere(replay->nodeTurns[i], graph))
                    ++drawn[replay->picture.nodes[i].title];
            const Graph folded = graphs[static_cast<std::size_t>(graph)];
            for (const auto& node : folded.nodes()) {
                const bool weight = std::ranges::all_of(node->inputs, [&](ValueId id) { return !id.valid() || folded.value(id).isConstant(); });
                if (!weight)
                    QVERIFY2(drawn[node->op] > 0, node->op.c_str());
            }
            for (std::size_t i = 0; i < replay->picture.edges.size(); ++i)
                if (isThere(replay->edgeTurns[i], graph)) {
                    QVERIFY(isThere(replay->nodeTurns[replay->picture.edges[i].from], graph));
                    QVERIFY(isThere(replay->nodeTurns[replay->picture.edges[i].to], graph));
                }
        }
        for (const auto& [op, count] : made.opsAfter) {
            int drawn = 0;
            for (std::size_t i = 0; i < replay->picture.nodes.size(); ++i)
                drawn += replay->picture.nodes[i].title == op && isThere(replay->nodeTurns[i], replay->graphs - 1);
            QCOMPARE(drawn, static_cast<int>(count));
        }
    }

    void stepsAreExported() {
        const QTemporaryDir folder;
        const OptimizedModel made = optimized("encoder");
        const auto file = std::filesystem::path(folder.filePath("step.onnx").toStdString());
        for (std::size_t step = 0; step <= made.steps.size(); ++step) {
            const auto error = exportStep(made, step, file);
            QVERIFY2(error.ok(), error.ok() ? "" : error.error().message.c_str());
            QVERIFY(*error < 1e-4);
            const auto read = openModel(file.string());
            QVERIFY(read.ok());
            if (step == made.steps.size())
                QCOMPARE(read->info().nodes, made.nodesAfter);
        }
        QVERIFY(!exportStep(made, 0, "/no/such/folder/step.onnx").ok());
    }
};

QTEST_GUILESS_MAIN(TstReplay)
#include "tst_replay.moc"
