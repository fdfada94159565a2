// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/planned_cost.h"

#include "core/module/layout_knowledge.h"

namespace tunesmith::optimize {
namespace {

constexpr int kRounds = 6;
constexpr LayoutLimits kLimits{2, 8}; // of what every draft is asked about

} // namespace

Result<PlannedLayouts> PlannedCost::plan(const Graph& prepared) {
    TS_ASSIGN(const LayoutProblem problem, LayoutProblem::make(prepared, target(), kLimits));
    const std::vector<Workload>& workloads = problem.workloads();
    LayoutKnowledge known(problem);
    for (const std::size_t i : known.greedy())
        known.learn(i, timeOf(workloads[i]).value_or(guess(workloads[i]))); // something has to run
    for (std::size_t i = 0; i < workloads.size(); ++i)
        if (!known.isMeasured(i) && isTimed(workloads[i]))
            known.learn(i, timeOf(workloads[i]));
    for (int round = 0; round < kRounds; ++round) {
        const std::vector<std::size_t> wanted = known.promising();
        if (wanted.empty())
            break;
        for (const std::size_t i : wanted)
            known.learn(i, timeOf(workloads[i]));
    }
    PlannedLayouts planned{problem.greedy(known.costs()), {}};
    planned.best = known.best().value_or(planned.greedy);
    return planned;
}

Result<double> PlannedCost::ofKernels(const Graph& part) {
    TS_ASSIGN(const PlannedLayouts planned, plan(part));
    return planned.best.ms;
}

} // namespace tunesmith::optimize
