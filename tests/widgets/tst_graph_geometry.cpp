// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/widgets/quiet_test.h"
#include "widgets/graph/graph_geometry.h"

using namespace tunesmith;

namespace {

GraphNode nodeAt(qint64 id, const QString& title, double x, double y) {
    GraphNode node;
    node.id = id;
    node.title = title;
    node.rect = {x, y, 100, 40};
    return node;
}

GraphEdge edge(const GraphScene& scene, int from, int to) {
    GraphEdge result;
    result.from = from;
    result.to = to;
    const auto a = scene.nodes[from].rect, b = scene.nodes[to].rect;
    result.points = {{a.center().x(), a.bottom()}, {b.center().x(), b.top()}};
    return result;
}

GraphScene diamond() { // 0 above 1 and 2, both above 3
    GraphScene scene;
    scene.nodes = {nodeAt(10, "Input", 100, 0), nodeAt(11, "Conv", 0, 100), nodeAt(12, "Relu", 200, 100),
                   nodeAt(13, "Add", 100, 200)};
    for (const auto& [from, to] : {std::pair{0, 1}, {0, 2}, {1, 3}, {2, 3}})
        scene.edges.push_back(edge(scene, from, to));
    scene.size = {300, 240};
    return scene;
}

} // namespace

class GraphGeometryTest : public QObject {
    Q_OBJECT
private slots:
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void zoomKeepsThePointUnderTheCursor_data() {
        QTest::addColumn<QPointF>("at");
        QTest::addColumn<double>("factor");
        QTest::newRow("in") << QPointF(30, 70) << 1.7;
        QTest::newRow("out") << QPointF(400, -3) << 0.2;
        QTest::newRow("beyond the limit") << QPointF(5, 5) << 1e9;
        QTest::newRow("below the limit") << QPointF(5, 5) << 1e-9;
    }
    void zoomKeepsThePointUnderTheCursor() {
        QFETCH(QPointF, at);
        QFETCH(double, factor);
        ViewTransform before{0.8, {11, -20}};
        const auto after = before.zoomedAt(at, factor);
        QVERIFY((after.toView(before.toScene(at)) - at).manhattanLength() < 1e-6);
        QVERIFY(after.scale >= ViewTransform::kSmallest && after.scale <= ViewTransform::kLargest);
    }

    void fit_data() {
        QTest::addColumn<QRectF>("scene");
        QTest::newRow("tall") << QRectF(0, 0, 100, 9000);
        QTest::newRow("wide") << QRectF(50, 50, 9000, 10);
        QTest::newRow("small") << QRectF(0, 0, 10, 10);
        QTest::newRow("empty") << QRectF();
    }
    void fit() {
        QFETCH(QRectF, scene);
        const auto fitted = ViewTransform::fitting(scene, {800, 600}, 20);
        QVERIFY(QRectF(19, 19, 762, 562).contains(fitted.toView(scene)) || scene.isEmpty());
        QVERIFY(fitted.scale <= 1);
        QCOMPARE(fitted.toView(scene.center()), QPointF(400, 300));
    }

    void openingStaysReadable() {
        const auto small = ViewTransform::opening({0, 0, 100, 100}, {800, 600}, 0.5);
        QCOMPARE(small.scale, 1.0);
        const auto tall = ViewTransform::opening({0, 0, 500, 100000}, {800, 600}, 0.5);
        QCOMPARE(tall.scale, 1.0);
        QCOMPARE(tall.toView(QPointF(0, 0)).y(), 24.0);
        const auto wide = ViewTransform::opening({0, 0, 50000, 100000}, {800, 600}, 0.5);
        QCOMPARE(wide.scale, 0.5);
    }

    void showingMovesNoMoreThanNeeded() {
        const ViewTransform still{1, {0, 0}};
        QCOMPARE(still.showing({100, 100, 50, 50}, {400, 300}, 10).offset, QPointF(0, 0));
        QCOMPARE(still.showing({390, 100, 50, 50}, {400, 300}, 10).offset, QPointF(-50, 0));
        QCOMPARE(still.showing({100, -20, 50, 50}, {400, 300}, 10).offset, QPointF(0, 30));
    }

    void hits() {
        const auto scene = diamond();
        const SceneIndex index(scene);
        QCOMPARE(index.nodeAt(scene, {150, 20}), 0);
        QCOMPARE(index.nodeAt(scene, {250, 120}), 2);
        QCOMPARE(index.nodeAt(scene, {150, 120}), -1);
        QCOMPARE(index.nodeAt(scene, {-1e6, 1e6}), -1);
        QCOMPARE(index.edgeAt(scene, scene.edges[2].points[0] + QPointF(1, 2), 4), 2);
        QCOMPARE(index.edgeAt(scene, {0, 230}, 4), -1);
        QCOMPARE(index.nodesIn(QRectF(0, 0, 300, 240)).size(), 4);
    }

    void indexFindsEverythingInLargeScenes() {
        GraphScene scene;
        for (int i = 0; i < 3000; ++i)
            scene.nodes.push_back(nodeAt(i, "N", (i % 50) * 160.0, (i / 50) * 90.0));
        scene.size = {50 * 160.0, 60 * 90.0};
        const SceneIndex index(scene);
        for (const QRectF& area :
             {QRectF(0, 0, 900, 700), QRectF(3333, 2000, 1234, 567), QRectF(7900, 5300, 500, 500)}) {
            const auto found = index.nodesIn(area);
            for (int i = 0; i < scene.nodes.size(); ++i)
                if (scene.nodes[i].rect.intersects(area))
                    QVERIFY(found.contains(i));
            QVERIFY(found.size() < 1000);
        }
    }

    void walks_data() {
        QTest::addColumn<int>("from");
        QTest::addColumn<int>("direction");
        QTest::addColumn<int>("to");
        QTest::newRow("down") << 1 << int(SceneWalk::Direction::down) << 3;
        QTest::newRow("up") << 3 << int(SceneWalk::Direction::up) << 1;
        QTest::newRow("right") << 1 << int(SceneWalk::Direction::right) << 2;
        QTest::newRow("left") << 2 << int(SceneWalk::Direction::left) << 1;
        QTest::newRow("end") << 3 << int(SceneWalk::Direction::down) << 3;
        QTest::newRow("nobody beside") << 0 << int(SceneWalk::Direction::left) << 0;
    }
    void walks() {
        QFETCH(int, from);
        QFETCH(int, direction);
        const auto scene = diamond();
        QTEST(SceneWalk(scene).step(scene, from, static_cast<SceneWalk::Direction>(direction)), "to");
    }

    void readingOrder() {
        const auto scene = diamond();
        const SceneWalk walk(scene);
        QVector<int> order;
        for (int node = walk.next(-1, 1); node >= 0; node = walk.next(node, 1))
            order << node;
        QCOMPARE(order, QVector<int>({0, 1, 2, 3}));
        QCOMPARE(walk.next(-1, -1), 3);
        QCOMPARE(walk.next(0, -1), -1);
        QCOMPARE(SceneWalk(GraphScene()).next(-1, 1), -1);
    }

    void finds() {
        auto scene = diamond();
        scene.nodes[2].details = {{"kernel", "3x3"}};
        QCOMPARE(findNodes(scene, "CONV"), QVector<int>({1}));
        QCOMPARE(findNodes(scene, "3X3"), QVector<int>({2}));
        QCOMPARE(findNodes(scene, "").size(), 0);
        QCOMPARE(findNodes(scene, "nothing").size(), 0);
    }

    void pathsBendVertically() {
        const auto path = edgePath({{0, 0}, {100, 50}});
        QCOMPARE(path.pointAtPercent(0), QPointF(0, 0));
        QCOMPARE(path.pointAtPercent(1), QPointF(100, 50));
        QCOMPARE(path.elementAt(1).x, 0.0);
        QVERIFY(edgePath({}).isEmpty());
    }

    void cardsGrowWithTheirText() {
        const QFont font;
        GraphNode node = nodeAt(0, "Conv", 0, 0);
        const auto bare = cardSize(node, font);
        node.subtitle = "a much longer name than that";
        const auto more = cardSize(node, font);
        QVERIFY(more.width() > bare.width() && more.height() > bare.height());
        node.subtitle = QString(500, 'x');
        QVERIFY(cardSize(node, font).width() < 1000);
    }
};

QTEST_MAIN(GraphGeometryTest)
#include "tst_graph_geometry.moc"
