// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/optimize/graph_search.h"
#include "core/rewrite/model_draft.h"
#include "core/workbench/optimize.h"

namespace tunesmith {

// Inside core/workbench only. A search's result as the facade tells it: costs, steps with their graphs, what rules did and where they were refused.
Status tellSearch(const rewrite::ModelDraft& model, const optimize::RuleSet& rules, const optimize::GraphSearchResult& found, OptimizedModel& told);
void tellOperators(OptimizedModel& told); // of the graphs before and after

} // namespace tunesmith
