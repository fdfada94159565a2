// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/optimize_rows.h"
#include "core/graph/graph_builder.h"
#include "tests/app/gui/window_fixture.h"
#include "tests/widgets/quiet_test.h"
#include "widgets/graph/graph_view.h"
#include "widgets/optimize/replay_view.h"
#include <QElapsedTimer>
#include <QRandomGenerator>
#include <QTest>

using namespace tunesmith;

namespace {

constexpr int kBlocks = 250, kRewrites = 500; // of four nodes each; every block is rewritten twice
const TensorType kType{DType::f32, Shape{1, 8}};

// Blocks of two branches that are added, one after the other. A block that was rewritten once is one branch of two nodes, twice: one node.
class Sequence {
public:
    Sequence() { first_ = build(); }

    OptimizedModel all() {
        OptimizedModel made;
        made.unit = "kernels";
        made.before = first_;
        for (int i = 0; i < kRewrites; ++i) {
            const int block = i * 7 % kBlocks; // all over the graph
            ++state_[static_cast<std::size_t>(block)];
            made.steps.push_back({"merge", {}, 1000. - i, 999. - i, build()});
        }
        made.after = made.steps.back().graph;
        return made;
    }

private:
    Graph build() {
        GraphBuilder builder;
        lineage_ = std::make_shared<Lineage>();
        ValueId at = builder.addInput("x", kType);
        for (int block = 0; block < kBlocks; ++block)
            at = addBlock(builder, block, at);
        Node last;
        last.op = "Softmax";
        last.inputs = {at};
        last.outputs = {builder.addValue("y", kType)};
        lineage_->became[NodeId(4 * kBlocks)] = {builder.addNode(last)};
        builder.setOutputs(last.outputs);
        if (first_.nodeCount() > 0) {
            lineage_->parent = std::make_shared<const Graph>(first_);
            builder.setLineage(lineage_);
        }
        return *builder.build();
    }

    ValueId addBlock(GraphBuilder& builder, int block, ValueId x) {
        const int state = state_[static_cast<std::size_t>(block)];
        const auto old = [&](int part) { return NodeId(4 * block + part); };
        for (int part = 0; part < 4; ++part)
            lineage_->became[old(part)] = {};
        if (state == 2)
            return addNode(builder, "Identity", {x}, {});
        if (state == 1)
            return addNode(builder, "Neg", {addNode(builder, "Abs", {x}, {})}, {});
        const ValueId left = addNode(builder, "Sigmoid", {addNode(builder, "Relu", {x}, old(0))}, old(1));
        return addNode(builder, "Add", {left, addNode(builder, "Tanh", {x}, old(2))}, old(3));
    }

    ValueId addNode(GraphBuilder& builder, const char* op, std::vector<ValueId> inputs, NodeId was) {
        Node node;
        node.op = op;
        node.inputs = std::move(inputs);
        const ValueId made = builder.addValue("", kType);
        node.outputs = {made};
        const NodeId id = builder.addNode(node);
        if (was.valid())
            lineage_->became[was] = {id};
        return made;
    }

    std::vector<int> state_ = std::vector<int>(kBlocks);
    std::shared_ptr<Lineage> lineage_;
    Graph first_;
};

} // namespace

// A slider over 500 rewrites of 1,000 nodes has to follow the hand.
class TstReplaySpeed : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        const OptimizedModel made = Sequence().all();
        QElapsedTimer timer;
        timer.start();
        auto replay = replayOf(made, QApplication::font(), {});
        QVERIFY(replay.ok());
        qInfo("drawn and laid out in %lld ms: %lld nodes, %lld edges", timer.elapsed(), static_cast<long long>(replay->scene.nodes.size()),
              static_cast<long long>(replay->scene.edges.size()));
        QVERIFY(timer.elapsed() < 20000); // off the window's thread
        QCOMPARE(replay->steps.size(), kRewrites);
        QCOMPARE(replay->scene.nodes.size(), 4 * kBlocks + 2 * kBlocks + kBlocks + 3);
        replay_ = std::move(*replay);
    }
    void init() { QuietTest::start(); }
    void cleanup() { QuietTest::finish(); }

    void anyStepToAnyOther_data() {
        QTest::addColumn<bool>("whole");
        QTest::newRow("readable") << false;
        QTest::newRow("all of it in view") << true;
    }
    void anyStepToAnyOther() {
        QFETCH(bool, whole);
        ReplayView view;
        view.resize(1200, 900);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QElapsedTimer timer;
        timer.start();
        view.setReplay(replay_);
        qInfo("shown in %lld ms", timer.elapsed());
        if (whole)
            view.graph()->fit();
        QRandomGenerator random(1);
        double longest = 0, sum = 0;
        constexpr int kMoves = 100;
        for (int i = 0; i < kMoves; ++i) {
            timer.restart();
            view.setStep(static_cast<int>(random.bounded(kRewrites + 1)));
            view.graph()->repaint();
            const double ms = static_cast<double>(timer.nsecsElapsed()) / 1e6;
            longest = std::max(longest, ms);
            sum += ms;
        }
        qInfo("%.1f ms a move, %.1f ms the longest", sum / kMoves, longest);
        QVERIFY(sum / kMoves < 50);
        QVERIFY(longest < 100);
    }

    void eachStepChangesOneBlock() {
        for (const int step : {1, 100, 251, 500}) {
            const GraphPresence presence = presenceAt(replay_.nodes, replay_.edges, step);
            QCOMPARE(presence.nodes.count(Presence::vanished), step <= kBlocks ? 4 : 2);
            QCOMPARE(presence.nodes.count(Presence::appeared), step <= kBlocks ? 2 : 1);
        }
    }

private:
    Replay replay_;
};

int main(int argc, char** argv) {
    return windowTestMain<TstReplaySpeed>("tst_replay_speed", argc, argv);
}
#include "tst_replay_speed.moc"
