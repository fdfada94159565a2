// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/optimize/graph_search.h"

namespace tunesmith::optimize {

// The way of a search walked again with some of its steps left out. Steps are known by what they touched (graph_search.h, Place), so those that do not depend on what
// is left out are found although all numbers differ.

Place placeOf(const Draft& draft, const Match& match);

struct PlacedRule {
    std::uint32_t rule = 0;
    Place place;
};

struct Retraced {
    GraphSearchResult found;       // best: the end of the way, whatever it costs
    std::vector<std::size_t> lost; // steps whose place is not there any more, or where the rule does not hold any more, ascending
};

// From the simplified start. The only error of a user is `cancelled`.
Result<Retraced> retrace(const Draft& start, const RuleSet& rules, DraftCost& cost, const std::vector<PlacedRule>& way, const StopToken& stop = {});

} // namespace tunesmith::optimize
