// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/graph/graph_geometry.h"

using namespace tunesmith;

namespace {

GraphScene row(int nodes) { // side by side, each with a line to the next
    GraphScene scene;
    for (int i = 0; i < nodes; ++i) {
        GraphNode node;
        node.id = i;
        node.title = QStringLiteral("N");
        node.rect = {i * 200.0, i * 100.0, 100, 40};
        scene.nodes.push_back(node);
    }
    for (int i = 1; i < nodes; ++i)
        scene.edges.push_back({i - 1, i, {}, {scene.nodes[i - 1].rect.center(), scene.nodes[i].rect.center()}, {}});
    scene.size = {nodes * 200.0, nodes * 100.0};
    return scene;
}

} // namespace

class GraphPresenceTest : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void presence_data() {
        QTest::addColumn<Turns>("turns");
        QTest::addColumn<int>("graph");
        QTest::addColumn<int>("is");
        const auto add = [](const char* name, const Turns& turns, int graph, Presence is) { QTest::newRow(name) << turns << graph << int(is); };
        add("never there", {}, 3, Presence::absent);
        add("at the start nothing is new", {0}, 0, Presence::kept);
        add("stays", {0}, 7, Presence::kept);
        add("not yet", {3}, 2, Presence::absent);
        add("comes", {3}, 3, Presence::appeared);
        add("has come", {3}, 4, Presence::kept);
        add("goes", {0, 2}, 2, Presence::vanished);
        add("has gone", {0, 2}, 3, Presence::absent);
        add("comes again", {0, 2, 5}, 5, Presence::appeared);
        add("for one graph", {2, 3}, 3, Presence::vanished);
        add("not yet at the start", {1}, 0, Presence::absent);
    }
    void presence() {
        QFETCH(Turns, turns);
        QFETCH(int, graph);
        QTEST(int(presenceAt(turns, graph)), "is");
    }

    void emptyMeansEverything() {
        const GraphPresence all;
        QVERIFY(all.hasNode(5) && all.node(5) == Presence::kept && all.edge(5) == Presence::kept);
    }

    void whatChangedHasAnArea() {
        const GraphScene scene = row(4);
        const QVector<Turns> nodes{{0}, {0, 1}, {1}, {2}};
        const auto at = [&](int graph) { return changedArea(scene, presenceAt(nodes, {}, graph)); };
        QVERIFY(at(0).isNull());
        QCOMPARE(at(1), scene.nodes[1].rect.united(scene.nodes[2].rect));
        QCOMPARE(at(2), scene.nodes[3].rect);
        QVERIFY(at(3).isNull());
    }

    void differences() {
        const QVector<Turns> nodes{{0}, {0, 1}, {1}, {1, 2}, {0, 1, 2}};
        const GraphDifference found = difference(nodes, 0, 2);
        QCOMPARE(found.gone, QVector<int>({1}));
        QCOMPARE(found.fresh, QVector<int>({2}));
        QVERIFY(difference(nodes, 2, 2).gone.isEmpty());
    }

    void nobodyWalksToWhatIsAbsent() {
        const GraphScene scene = row(3);
        GraphPresence presence{{Presence::kept, Presence::absent, Presence::kept}, {Presence::absent, Presence::absent}};
        const SceneWalk walk(scene, presence);
        QCOMPARE(walk.next(-1, 1), 0);
        QCOMPARE(walk.next(0, 1), 2);
        QCOMPARE(walk.next(2, 1), -1);
        QCOMPARE(walk.step(scene, 0, SceneWalk::Direction::down), 0);
        QCOMPARE(SceneWalk(scene).step(scene, 0, SceneWalk::Direction::down), 1);
    }
};

QTEST_MAIN(GraphPresenceTest)
#include "tst_graph_presence.moc"
