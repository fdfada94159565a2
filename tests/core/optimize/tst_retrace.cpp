// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <algorithm>
#include <cmath>

#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/ops/fold_constants.h"
#include "core/ops/interpreter.h"
#include "core/optimize/retrace.h"
#include "core/rewrite/model_draft.h"
#include "small_models.h"
#include "tests/take.h"
#include "written_rules.h"

using namespace tunesmith;
using namespace tunesmith::optimize;

namespace {

// The steps of a way that a search chose.
std::vector<PlacedRule> wayOf(const GraphSearchResult& found) {
    std::vector<PlacedRule> way;
    for (const StatePtr& state : trailOf(found.best))
        if (!state->step.place.empty())
            way.push_back({state->step.rule, state->step.place});
    return way;
}

} // namespace

// Ways of searches walked again. Labels, by which places are known, are tested with drafts.
class TestRetrace : public QObject {
    Q_OBJECT

    static Graph graphNamed(const QString& name) {
        return name == "fire" ? fireModules(4) : name == "attention" ? attention(2) : recurrentCell(3);
    }

    static GraphSearchResult searched(const Draft& draft, const QString& strategy) {
        LaunchCost cost;
        GraphSearchOptions options;
        options.strategy = strategy.toStdString();
        options.budget = 300;
        return take(searchGraph(draft, rules(), cost, options));
    }

    static Retraced walked(const Draft& draft, const std::vector<PlacedRule>& way) {
        LaunchCost cost;
        return take(retrace(draft, rules(), cost, way));
    }

    static void requireEqual(const rewrite::ModelDraft& model, const Draft& draft) {
        const std::vector<Tensor> inputs = take(randomInputs(model.source, 3));
        const Graph after = take(foldConstants(take(rewrite::graphOf(model, draft)), FoldOptions::weights()));
        const Status same = requireEquivalent(take(Interpreter(model.source).run(inputs)), take(Interpreter(after).run(inputs)), {}, {0, 1e-4});
        QVERIFY2(same.ok(), problemOf(same).c_str());
    }

private slots:
    void theWholeWayLeadsToTheSame_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("strategy");
        for (const char* model : {"fire", "attention", "cell"})
            for (const GraphStrategyInfo& info : graphStrategies())
                QTest::addRow("%s, %s", model, info.name.c_str()) << model << QString::fromStdString(info.name);
    }
    void theWholeWayLeadsToTheSame() {
        QFETCH(QString, model);
        QFETCH(QString, strategy);
        const rewrite::ModelDraft made = take(rewrite::draftOf(graphNamed(model)));
        const GraphSearchResult found = searched(made.draft, strategy);
        const std::vector<PlacedRule> way = wayOf(found);
        QVERIFY(!way.empty());
        const Retraced again = walked(made.draft, way);
        QVERIFY(again.lost.empty());
        QCOMPARE(again.found.start->cost, found.start->cost);
        QCOMPARE(again.found.best->cost, found.best->cost);
        QCOMPARE(again.found.best->draft.hash(), found.best->draft.hash());
        QCOMPARE(again.found.stopReason, StopReason::exhausted);
    }

    // What was found in pieces is walked on the whole, where a rule may find more at a border.
    void waysThroughPieces() {
        const rewrite::ModelDraft made = take(rewrite::draftOf(recurrentCell(132)));
        const GraphSearchResult found = searched(made.draft, "backtracking");
        const std::vector<PlacedRule> way = wayOf(found);
        QVERIFY(way.size() > 100);
        const Retraced again = walked(made.draft, way);
        QVERIFY2(again.lost.size() <= 2 && again.found.best->cost < 1.01 * found.best->cost, std::to_string(again.lost.size()).c_str());
    }

    // Modules have nothing to do with each other: all but one are rewritten.
    void whatDoesNotDependStays() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(4)));
        const GraphSearchResult found = searched(model.draft, "backtracking");
        const std::vector<PlacedRule> way = wayOf(found);
        QCOMPARE(way.size(), std::size_t(4));
        const double gain = (found.start->cost - found.best->cost) / 4;
        for (std::size_t left = 0; left < way.size(); ++left) {
            std::vector<PlacedRule> rest = way;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left));
            const Retraced again = walked(model.draft, rest);
            QVERIFY(again.lost.empty());
            QVERIFY(std::abs(again.found.best->cost - found.best->cost - gain) < 0.01 * gain); // weight bytes differ
            requireEqual(model, again.found.best->draft);
        }
    }

    // Whatever is left out, what stays is equal to the model, and each step is either made or lost.
    void everyRestIsEqual_data() {
        QTest::addColumn<QString>("model");
        QTest::newRow("attention") << "attention";
        QTest::newRow("cell") << "cell";
    }
    void everyRestIsEqual() {
        QFETCH(QString, model);
        const rewrite::ModelDraft made = take(rewrite::draftOf(graphNamed(model)));
        const std::vector<PlacedRule> way = wayOf(searched(made.draft, "backtracking"));
        for (std::size_t left = 0; left < way.size(); ++left) {
            std::vector<PlacedRule> rest = way;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left));
            const Retraced again = walked(made.draft, rest);
            QCOMPARE(wayOf(again.found).size() + again.lost.size(), rest.size());
            QVERIFY(std::ranges::all_of(again.lost, [&](std::size_t step) { return step >= left; })); // what came before depends on nothing after
            requireEqual(made, again.found.best->draft);
        }
    }

    // Moves that another one made possible.
    void whatDependsIsLost() {
        int pairs = 0;
        for (const Graph& graph : {fireModules(2), attention(1), recurrentCell(2)}) {
            const rewrite::ModelDraft model = take(rewrite::draftOf(graph));
            const StatePtr start = walked(model.draft, {}).found.start;
            const auto placed = [](const Draft& draft, const Move& move) { return PlacedRule{move.rule, placeOf(draft, move.match)}; };
            const auto has = [&](const Draft& draft, const PlacedRule& step) {
                return std::ranges::any_of(rules().moves(draft), [&](const Move& move) { return move.rule == step.rule && placeOf(draft, move.match) == step.place; });
            };
            for (const Move& move : rules().moves(start->draft)) {
                const PlacedRule first = placed(start->draft, move);
                const Retraced one = walked(model.draft, {first});
                if (!one.lost.empty())
                    continue;
                for (const Move& next : rules().moves(one.found.best->draft)) {
                    const PlacedRule second = placed(one.found.best->draft, next);
                    if (has(start->draft, second) || !walked(model.draft, {first, second}).lost.empty())
                        continue;
                    ++pairs;
                    const Retraced without = walked(model.draft, {second});
                    QCOMPARE(without.lost, std::vector<std::size_t>{0});
                    QVERIFY(without.found.best == without.found.start);
                }
            }
        }
        qInfo("%d moves that others made possible", pairs);
        QVERIFY(pairs > 0);
    }

    void placesThatAreNotThereAreLost() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(2)));
        const std::vector<PlacedRule> way = wayOf(searched(model.draft, "greedy"));
        QCOMPARE(way.size(), std::size_t(2));
        std::vector<PlacedRule> strange{way[0], way[0], {way[1].rule, {1, 2, 3}}, {1U << 30, way[1].place}, {way[1].rule, {}}, way[1]};
        const Retraced again = walked(model.draft, strange); // the second time there is nothing left to do
        QCOMPARE(again.lost, (std::vector<std::size_t>{1, 2, 3, 4}));
        QCOMPARE(again.found.best->draft.hash(), walked(model.draft, way).found.best->draft.hash());
        const Retraced nothing = walked(model.draft, {});
        QVERIFY(nothing.lost.empty() && nothing.found.best == nothing.found.start);
    }

    void cancels() {
        const rewrite::ModelDraft model = take(rewrite::draftOf(fireModules(2)));
        StopSource source;
        source.requestStop();
        LaunchCost cost;
        const auto again = retrace(model.draft, rules(), cost, wayOf(searched(model.draft, "greedy")), source.token());
        QVERIFY(!again.ok() && again.error().isCancelled());
    }
};

QTEST_APPLESS_MAIN(TestRetrace)
#include "tst_retrace.moc"
