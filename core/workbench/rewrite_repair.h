// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/optimize/graph_search.h"

namespace tunesmith {

// Inside core/workbench only. What a search found without the rules that do not keep what this model computes: the first state of
// the way whose graph differs is found by halving it, the guilty rule of that step by walking there without each, and the way is
// walked again without it, until the end of it agrees.
using DraftAgrees = std::function<Result<bool>(const rewrite::Draft& draft)>;

struct RepairedSearch {
    optimize::GraphSearchResult found; // its steps' rules are those of `rules`
    optimize::RuleSet rules;
    std::vector<std::string> leftOut; // by name
};

// For a result whose best does not agree. An Error where the start does not, whatever is left out.
Result<RepairedSearch> repairSearch(const rewrite::Draft& start, const std::vector<rewrite::SubstitutionPtr>& rules, optimize::DraftCost& cost,
                                    const optimize::GraphSearchResult& found, const DraftAgrees& agrees, const StopToken& stop);

} // namespace tunesmith
