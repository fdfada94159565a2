// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/optimize/draft_cost.h"
#include "core/workbench/graph_race.h"
#include "core/workbench/optimize.h"

namespace tunesmith {

// Inside core/workbench only: what drafts are judged by; costs in ms leave the last word to modules. A cost that was still being measured when the work was
// stopped is infinite.
struct GraphJudge {
    std::unique_ptr<optimize::DraftCost> cost;
    bool measuresKernels = false;
    GraphRace::LayoutPlanner planner = {};
};
Result<GraphJudge> makeJudge(const OptimizeRequest& request, StageTurns& turns, const Work& work);

int threadsOf(const OptimizeRequest& request);

} // namespace tunesmith
