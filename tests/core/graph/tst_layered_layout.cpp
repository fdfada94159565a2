// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"
#include "core/graph/layered_layout.h"
#include <QTest>
#include <algorithm>
#include <cmath>
#include <ctime>

using namespace tunesmith;

namespace {

struct Sample {
    std::vector<LayoutNode> nodes;
    std::vector<LayoutEdge> edges;

    int node(float width = 120, float height = 40) {
        nodes.push_back({width, height});
        return static_cast<int>(nodes.size()) - 1;
    }
    void edge(int from, int to, int group = -1) { edges.push_back({from, to, group}); }
};

Sample chain(int length) {
    Sample sample;
    for (int i = 0; i < length; ++i)
        if (const int node = sample.node(); node > 0)
            sample.edge(node - 1, node);
    return sample;
}

Sample residual(int blocks) { // conv, norm, relu, conv, norm, add with a shortcut
    Sample sample;
    int last = sample.node(80, 30);
    for (int i = 0; i < blocks; ++i) {
        const int input = last;
        for (int step = 0; step < 6; ++step) {
            const int node = sample.node(step % 3 == 0 ? 140.0f : 90.0f, step == 0 ? 60.0f : 36.0f);
            sample.edge(last, node);
            last = node;
        }
        sample.edge(input, last);
    }
    return sample;
}

Sample dense(int blocks, int layers) { // every layer of a block reads all layers before it in the block
    Sample sample;
    int entry = sample.node();
    for (int block = 0; block < blocks; ++block) {
        std::vector<int> before{entry};
        for (int layer = 0; layer < layers; ++layer) {
            const int node = sample.node();
            for (const int other : before)
                sample.edge(other, node, 0);
            before.push_back(node);
        }
        entry = before.back();
    }
    return sample;
}

Sample transformer(int nodes) { // 43 operators a block, two shortcuts and a side branch each
    Sample sample;
    int last = sample.node(), shortcut = last;
    while (static_cast<int>(sample.nodes.size()) < nodes) {
        const int step = static_cast<int>(sample.nodes.size()) % 43;
        const int node = sample.node(90 + static_cast<float>(step), 40);
        sample.edge(last, node);
        if (step == 20 || step == 42) {
            sample.edge(shortcut, node);
            shortcut = node;
        } else if (step % 7 == 3) {
            const int side = sample.node();
            sample.edge(last, side);
            sample.edge(side, node);
        }
        last = node;
    }
    return sample;
}

Sample sharedConstant(int blocks, int group) {
    Sample sample;
    const int constant = sample.node(60, 24);
    int last = sample.node();
    for (int i = 0; i < blocks * 40; ++i) {
        const int node = sample.node();
        sample.edge(last, node);
        if (i % 40 == 20)
            sample.edge(constant, node, group);
        last = node;
    }
    return sample;
}

Sample random(std::uint64_t seed, bool cyclic) {
    Rng rng(seed);
    Sample sample;
    const int count = 2 + static_cast<int>(rng.below(60));
    for (int i = 0; i < count; ++i)
        sample.node(20 + rng.uniform(0.0f, 160.0f), 10 + rng.uniform(0.0f, 90.0f));
    for (int i = 0; i < count * 2; ++i) {
        int from = static_cast<int>(rng.below(count)), to = static_cast<int>(rng.below(count));
        if (!cyclic && from == to)
            continue;
        if (!cyclic && from > to)
            std::swap(from, to);
        sample.edge(from, to, static_cast<int>(rng.below(3)) - 1);
    }
    return sample;
}

GraphLayout layOut(const Sample& sample, const LayoutOptions& options = {}) {
    return layeredLayout(sample.nodes, sample.edges, options).value();
}

bool overlap(const LayoutRect& a, const LayoutRect& b) {
    return a.x < b.right() - 0.01f && b.x < a.right() - 0.01f && a.y < b.bottom() - 0.01f &&
           b.y < a.bottom() - 0.01f;
}

int overlaps(const GraphLayout& layout) {
    auto nodes = layout.nodes;
    std::sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.y < b.y; });
    int count = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (std::size_t j = i + 1; j < nodes.size() && nodes[j].y < nodes[i].bottom(); ++j)
            count += overlap(nodes[i], nodes[j]);
    return count;
}

// Edges start at their source and end at their target, run downwards (or upwards when reversed), and stay in
// the picture.
QString edgeFault(const Sample& sample, const GraphLayout& layout) {
    for (std::size_t i = 0; i < sample.edges.size(); ++i) {
        const auto& edge = layout.edges[i];
        const auto& from = layout.nodes[sample.edges[i].from];
        const auto& to = layout.nodes[sample.edges[i].to];
        auto points = edge.points;
        points.insert(points.end(), edge.arrival.begin(), edge.arrival.end());
        if (points.size() < 2)
            return QString("edge %1 has no line").arg(i);
        for (const auto& point : points)
            if (point.x < -0.1f || point.y < -0.1f || point.x > layout.width + 0.1f ||
                point.y > layout.height + 0.1f)
                return QString("edge %1 leaves the picture").arg(i);
        if (edge.loop)
            continue;
        const float start = edge.reversed ? from.y : from.bottom(), end = edge.reversed ? to.bottom() : to.y;
        if (std::abs(points.front().y - start) > 0.1f || points.front().x < from.x ||
            points.front().x > from.right())
            return QString("edge %1 does not start at its source").arg(i);
        if (std::abs(points.back().y - end) > 0.1f || points.back().x < to.x || points.back().x > to.right())
            return QString("edge %1 does not end at its target").arg(i);
        for (std::size_t k = 1; k < points.size(); ++k)
            if (edge.reversed ? points[k].y > points[k - 1].y + 0.01f : points[k].y < points[k - 1].y - 0.01f)
                return QString("edge %1 turns back").arg(i);
    }
    return {};
}

// A straight vertical piece of a line must not pass through a node.
int nodesHit(const GraphLayout& layout) {
    int hits = 0;
    for (const auto& edge : layout.edges)
        for (std::size_t k = 1; k < edge.points.size(); ++k) {
            const auto a = edge.points[k - 1], b = edge.points[k];
            if (edge.loop || std::abs(a.x - b.x) > 0.01f)
                continue;
            const float top = std::min(a.y, b.y) + 0.1f, bottom = std::max(a.y, b.y) - 0.1f;
            for (const auto& node : layout.nodes)
                hits += a.x > node.x && a.x < node.right() && top < node.bottom() && bottom > node.y;
        }
    return hits;
}

// Processor time, in ms: what else runs on the machine does not count.
double cost(const Sample& sample) {
    const std::clock_t begin = std::clock();
    const bool whole = layOut(sample).nodes.size() == sample.nodes.size();
    return whole ? 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC : 1e9;
}

} // namespace

class LayeredLayoutTest : public QObject {
    Q_OBJECT
private slots:
    void draws_data() {
        QTest::addColumn<int>("kind");
        QTest::newRow("chain") << 0;
        QTest::newRow("residual blocks") << 1;
        QTest::newRow("dense blocks") << 2;
        QTest::newRow("transformer") << 3;
        QTest::newRow("shared constant") << 4;
        QTest::newRow("shared constant in one trunk") << 5;
        QTest::newRow("long chain") << 6;
    }
    void draws() {
        QFETCH(int, kind);
        const Sample samples[] = {chain(12),
                                  residual(8),
                                  dense(3, 12),
                                  transformer(600),
                                  sharedConstant(50, -1),
                                  sharedConstant(50, 0),
                                  chain(100000)};
        const auto& sample = samples[kind];
        const auto layout = layOut(sample);
        QCOMPARE(overlaps(layout), 0);
        QCOMPARE(edgeFault(sample, layout), QString());
        for (const auto& edge : sample.edges)
            QVERIFY(layout.layer[edge.from] < layout.layer[edge.to]);
        if (sample.nodes.size() < 1000)
            QCOMPARE(nodesHit(layout), 0);
        QVERIFY(layout == layOut(sample));
    }

    void randomGraphs_data() {
        QTest::addColumn<bool>("cyclic");
        QTest::newRow("acyclic") << false;
        QTest::newRow("cyclic") << true;
    }
    void randomGraphs() {
        QFETCH(bool, cyclic);
        for (std::uint64_t seed = 1; seed <= 150; ++seed) {
            const auto sample = random(seed, cyclic);
            const auto layout = layOut(sample);
            const auto context = QString("seed %1: ").arg(seed);
            QCOMPARE(context + QString::number(overlaps(layout)), context + "0");
            QCOMPARE(context + edgeFault(sample, layout), context);
            QCOMPARE(context + QString::number(nodesHit(layout)), context + "0");
            QVERIFY(layout == layOut(sample));
        }
    }

    void empty() {
        const auto layout = layOut({});
        QVERIFY(layout.nodes.empty() && layout.edges.empty());
        QCOMPARE(layout.width, 0.0f);
        QCOMPARE(layout.height, 0.0f);
    }

    void oneNode() {
        const auto layout = layOut(chain(1));
        QVERIFY((layout.nodes[0] == LayoutRect{0, 0, 120, 40}));
        QCOMPARE(layout.width, 120.0f);
    }

    void selfLoop() {
        auto sample = chain(2);
        sample.edge(0, 0);
        const auto layout = layOut(sample);
        QVERIFY(layout.edges[1].loop);
        QVERIFY(layout.edges[1].points.size() >= 4);
        QVERIFY(layout.width > 120.0f);
        QCOMPARE(overlaps(layout), 0);
    }

    void chainsAreStraight() {
        auto sample = chain(20);
        for (std::size_t i = 0; i < sample.nodes.size(); ++i)
            sample.nodes[i].width = 60.0f + 17.0f * static_cast<float>(i % 5);
        const auto layout = layOut(sample);
        for (const auto& edge : layout.edges) {
            QCOMPARE(edge.points.size(), std::size_t(2));
            QCOMPARE(edge.points[0].x, edge.points[1].x);
        }
    }

    void trunkOfResidualNetworkIsStraight() {
        const auto sample = residual(8);
        const auto layout = layOut(sample);
        int straight = 0;
        for (std::size_t i = 0; i < sample.edges.size(); ++i)
            straight += std::abs(layout.edges[i].points.front().x - layout.edges[i].points.back().x) < 0.1f;
        QVERIFY2(straight >= 48, qPrintable(QString::number(straight)));
    }

    void cyclesAreOpened() {
        auto sample = chain(4);
        sample.edge(3, 0);
        const auto layout = layOut(sample);
        QVERIFY(layout.edges[3].reversed);
        for (int i = 0; i < 3; ++i)
            QVERIFY(!layout.edges[i].reversed);
        QCOMPARE(edgeFault(sample, layout), QString());
        QVERIFY(layout.edges[3].points.front().y > layout.edges[3].points.back().y);
    }

    void partsStandSideBySide() {
        Sample sample;
        for (int part = 0; part < 3; ++part) {
            const int first = sample.node();
            sample.edge(first, sample.node());
        }
        const auto layout = layOut(sample);
        QCOMPARE(overlaps(layout), 0);
        QVERIFY(layout.nodes[0].right() < layout.nodes[2].x);
        QVERIFY(layout.nodes[2].right() < layout.nodes[4].x);
        QCOMPARE(layout.nodes[0].y, layout.nodes[4].y);
    }

    void manyPartsWrapIntoRows() {
        Sample sample;
        for (int i = 0; i < 400; ++i)
            sample.node();
        const auto layout = layOut(sample);
        QCOMPARE(overlaps(layout), 0);
        QVERIFY(layout.width < 10 * layout.height);
        QVERIFY(layout.height < 10 * layout.width);
    }

    void longEdgesAreCut() {
        auto sample = chain(60);
        sample.edge(0, 59);
        sample.edge(10, 20);
        LayoutOptions options;
        options.maxSpan = 15;
        const auto layout = layOut(sample, options);
        QVERIFY(layout.edges[59].cut());
        QVERIFY(!layout.edges[60].cut());
        QCOMPARE(edgeFault(sample, layout), QString());
    }

    void aGroupSharesItsTrunk() {
        Sample sample;
        const int source = sample.node();
        int last = source;
        for (int i = 0; i < 10; ++i) {
            const int node = sample.node();
            sample.edge(last, node);
            if (i >= 4 && i % 2 == 0)
                sample.edge(source, node, 7);
            last = node;
        }
        const auto layout = layOut(sample);
        std::vector<float> starts;
        for (std::size_t i = 0; i < sample.edges.size(); ++i)
            if (sample.edges[i].group == 7)
                starts.push_back(layout.edges[i].points.front().x);
        QCOMPARE(starts.size(), std::size_t(3));
        QCOMPARE(starts[0], starts[1]);
        QCOMPARE(starts[0], starts[2]);
    }

    void constantsStandNextToTheirReader() {
        auto sample = chain(10);
        const int constant = sample.node();
        sample.edge(constant, 8);
        QCOMPARE(layOut(sample).layer[constant], 7);
    }

    void stops() {
        StopSource source;
        source.requestStop();
        const auto sample = chain(10);
        const auto layout = layeredLayout(sample.nodes, sample.edges, {}, source.token());
        QVERIFY(!layout.ok());
        QVERIFY(layout.error().isCancelled());
    }

    // Four times the graph may take little more than four times as long; a quadratic pass takes sixteen.
    void growsWithTheGraph_data() {
        QTest::addColumn<int>("kind");
        QTest::newRow("transformer") << 0;
        QTest::newRow("dense") << 1;
        QTest::newRow("shared constant") << 2;
        QTest::newRow("chain") << 3;
    }
    void growsWithTheGraph() {
        QFETCH(int, kind);
        const auto sample = [&](int times) {
            return kind == 0 ? transformer(2500 * times) : kind == 1 ? dense(40 * times, 13) : kind == 2 ? sharedConstant(60 * times, -1) : chain(25000 * times);
        };
        const Sample small = sample(1), large = sample(4);
        double once = 1e9, fourfold = 1e9;
        for (int run = 0; run < 3; ++run) {
            once = std::min(once, cost(small));
            fourfold = std::min(fourfold, cost(large));
        }
        qInfo("%d nodes: %.1f ms, %d nodes: %.1f ms", static_cast<int>(small.nodes.size()), once, static_cast<int>(large.nodes.size()), fourfold);
        QVERIFY(once < 1e8 && fourfold < 9 * std::max(once, 1.0));
    }
};

QTEST_GUILESS_MAIN(LayeredLayoutTest)
#include "tst_layered_layout.moc"
