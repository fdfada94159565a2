// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/search/model_guided.h"

namespace tunesmith {

enum class StrategyNeed {
    nothing,
    model,
    index,
    choices
}; // of the caller (model) or of the space (the others)

// How strategies are named and shown: in options, stored runs, lists and help, everywhere from here. Names
// are stored; never rename one.
struct StrategyEntry {
    std::string_view name, title;
    std::string_view help; // one line
    StrategyNeed needs = StrategyNeed::nothing;
};

std::span<const StrategyEntry> strategyTable();                    // the default first
Status checkStrategyName(std::string_view name);                   // names the known ones
bool canSearch(const StrategyEntry& strategy, const Space& space); // has the space what it needs?

struct StrategyOptions {
    std::uint64_t seed = 0;
    TrialCost cost;                                    // default: the value of the first objective
    std::function<std::unique_ptr<CostModel>()> model; // called only for a strategy that needs one
    ModelGuidedOptions guided;                         // of model-guided, less seed and cost
};

// Refuses unknown names, spaces that lack what the strategy needs, and one that needs a model without a
// model.
Result<std::unique_ptr<Strategy>> makeStrategy(std::string_view name, const Space& space,
                                               StrategyOptions options);

} // namespace tunesmith
