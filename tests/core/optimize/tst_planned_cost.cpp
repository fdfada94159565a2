// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>
#include <map>

#include "core/module/build.h"
#include "core/optimize/graph_search.h"
#include "core/optimize/planned_cost.h"
#include "core/rewrite/model_draft.h"
#include "small_models.h"
#include "tests/take.h"
#include "written_rules.h"

using namespace tunesmith;
using namespace tunesmith::optimize;

namespace {

std::int64_t channelsOf(const Workload& workload) { return workload.graph.value(workload.graph.outputs()[0]).type.shape()[1]; }

bool isUsual(const Workload& workload) { return channelBlock(workload.outputLayouts[0]) == 8; } // what the greedy choice gives eight channels

// A convolution of eight channels is slow where they lie as usual, and fast otherwise.
std::optional<double> byLayout(const Workload& workload) {
    if (workload.op != "Conv")
        return 0.1;
    return channelsOf(workload) != 8 ? 1.5 : isUsual(workload) ? 5 : 1;
}

std::optional<double> onlyAsUsual(const Workload& workload) {
    return workload.op == "Conv" && channelsOf(workload) == 8 && !isUsual(workload) ? std::nullopt : byLayout(workload);
}

template <typename Cost>
GraphSearchResult searched(const Graph& graph, const MeasuredCost::Times& times) {
    const rewrite::ModelDraft model = take(rewrite::draftOf(graph));
    Cost cost(Target(), {}, times);
    return take(searchGraph(model.draft, rules(), cost, {}));
}

std::int64_t convolutions(const GraphSearchResult& found) {
    return std::ranges::count_if(found.best->draft.order(), [&](rewrite::NodeNo node) { return found.best->draft.op(node).op == "Conv"; });
}

} // namespace

class TstPlannedCost : public QObject {
    Q_OBJECT

private slots:
    // The merge pays only where its result lies otherwise: who asks for the graph first and for layouts afterwards never gets there.
    void choosesGraphsAndLayoutsAtOnce() {
        const Graph fire = fireModules(1);
        const GraphSearchResult apart = searched<MeasuredCost>(fire, byLayout), together = searched<PlannedCost>(fire, byLayout);
        QCOMPARE(convolutions(apart), std::int64_t(3));
        QCOMPARE(convolutions(together), std::int64_t(2));
        QVERIFY(together.best->cost < apart.best->cost - 1);
    }

    void withoutAnotherLayoutTheMergeIsRefused() { QCOMPARE(convolutions(searched<PlannedCost>(fireModules(1), onlyAsUsual)), std::int64_t(3)); }

    void asksForEachWorkloadOnce() {
        std::map<std::string, int> asked;
        searched<PlannedCost>(fireModules(3), [&](const Workload& workload) { return ++asked[workload.key], byLayout(workload); });
        QVERIFY(asked.size() > 4);
        for (const auto& [key, count] : asked)
            QCOMPARE(count, 1);
    }

    // Where nothing is a map of channels there is nothing to plan.
    void costsWhatMeasuredCostSays() {
        const auto times = [](const Workload& workload) { return std::optional(static_cast<double>(workload.flops + 1)); };
        const rewrite::ModelDraft model = take(rewrite::draftOf(recurrentCell(2)));
        MeasuredCost measured(Target(), {}, times);
        PlannedCost planned(Target(), {}, times);
        QCOMPARE(planned.of(model.draft), measured.of(model.draft));
        QCOMPARE(planned.unit(), measured.unit());
    }

    // Nothing can be measured: guesses stand in for what has to run, and nothing is changed for a guess.
    void nothingMeasured() {
        PlannedCost cost(Target(), {}, [](const Workload&) { return std::nullopt; });
        const PlannedLayouts planned = take(cost.plan(take(prepareGraph(fireModules(2)))));
        QCOMPARE(planned.best.plan.values, planned.greedy.plan.values);
        QVERIFY(planned.best.ms > 0 && planned.best.ms == planned.greedy.ms);
    }

    void plansAreNeverDearer() {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            std::map<std::string, double> times;
            Rng rng(seed);
            PlannedCost cost(Target(), {}, [&](const Workload& workload) { return times[workload.key] = 1 + static_cast<double>(rng.below(64)); });
            const Graph prepared = take(prepareGraph(fireModules(2)));
            const PlannedLayouts planned = take(cost.plan(prepared));
            QVERIFY(planned.best.ms <= planned.greedy.ms);
            BuildOptions options;
            options.layouts = planned.best.plan;
            options.chooseConfig = [&](const Workload& workload) {
                return std::optional(ChosenConfig{take(ScheduleSpace::make(workload, Target())).defaultConfig(), times.at(workload.key)});
            };
            double sum = 0; // of what a module consists of
            for (const PlanStep& step : take(buildModule(prepared, options)).steps)
                sum += step.expectedMs;
            QCOMPARE(sum, planned.best.ms);
        }
    }
};

QTEST_GUILESS_MAIN(TstPlannedCost)
#include "tst_planned_cost.moc"
