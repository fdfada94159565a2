// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QTest>
#include <thread>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/ops/fold_constants.h"
#include "core/ops/interpreter.h"
#include "core/optimize/graph_search.h"
#include "core/optimize/partition.h"
#include "core/rewrite/model_draft.h"
#include "core/rewrite/written/written.h"
#include "small_models.h"
#include "tests/take.h"

using namespace tunesmith;
using namespace tunesmith::optimize;

class TestLargeGraph : public QObject {
    Q_OBJECT

private slots:
    void isSearched_data() {
        QTest::addColumn<QString>("strategy");
        for (const GraphStrategyInfo& info : graphStrategies())
            QTest::newRow(info.name.c_str()) << QString::fromStdString(info.name);
    }

    void isSearched() {
        QFETCH(QString, strategy);
        const Graph before = recurrentCell(132);
        const rewrite::ModelDraft model = take(rewrite::draftOf(before));
        QCOMPARE_GE(model.draft.order().size(), 5000U);
        LaunchCost cost;
        GraphSearchOptions options;
        options.strategy = strategy.toStdString();
        const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, options));
        QVERIFY2(found.best->cost < 0.7 * found.start->cost, std::to_string(found.best->cost).c_str());
        double last = found.start->cost;
        for (const StatePtr& state : trailOf(found.best)) {
            QCOMPARE(state->step.costAfter, state->cost);
            QVERIFY(!state->parent || state->step.costBefore == last);
            last = state->cost;
        }
        const Graph after = take(foldConstants(take(rewrite::graphOf(model, found.best->draft)), FoldOptions::weights()));
        const std::vector<Tensor> inputs = take(randomInputs(before, 3));
        const Status same = requireEquivalent(take(Interpreter(before).run(inputs)), take(Interpreter(after).run(inputs)), {}, {0, 1e-4});
        QVERIFY2(same.ok(), same.error().message.c_str());
    }

    void isLeftAtOnce() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(recurrentCell(132)));
        LaunchCost cost;
        StopSource source;
        GraphSearchOptions options;
        options.strategy = "mcts";
        options.budget = 1 << 30;
        QElapsedTimer clock;
        std::thread stopper([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            clock.start();
            source.requestStop();
        });
        const GraphSearchResult found = take(searchGraph(model.draft, rules(), cost, options, source.token()));
        const qint64 elapsed = clock.elapsed();
        stopper.join();
        QCOMPARE(found.stopReason, StopReason::cancelled);
        QVERIFY2(elapsed < 1000, std::to_string(elapsed).c_str()); // 100 ms and room for a busy machine
    }

    void piecesPutBackAreTheWhole() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(recurrentCell(20, 8)));
        for (const std::size_t offset : {0, 40}) {
            std::size_t nodes = 0;
            for (const std::vector<NodeNo>& piece : piecesOf(model.draft, 100, offset)) {
                nodes += piece.size();
                const Piece cut = cutOut(model.draft, piece);
                const auto whole = spliced(model.draft, cut, cut.draft);
                QVERIFY(whole.has_value());
                QCOMPARE(whole->hash(), model.draft.hash());
            }
            QCOMPARE(nodes, model.draft.order().size());
        }
    }

private:
    static const RuleSet& rules() {
        static const RuleSet all(rewrite::writtenSubstitutions());
        return all;
    }
};

QTEST_APPLESS_MAIN(TestLargeGraph)
#include "tst_large_graph.moc"
