// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/strategy_table.h"

#include <algorithm>

#include "core/search/annealing_strategy.h"
#include "core/search/bandit_strategy.h"
#include "core/search/coordinate_strategy.h"
#include "core/search/genetic_strategy.h"
#include "core/search/simple_strategies.h"

namespace tunesmith {
namespace {

using Made = Result<std::unique_ptr<Strategy>>;
using Make = Made (*)(const Space&, StrategyOptions&&);

struct Row {
    StrategyEntry entry;
    Make make;
};

Made modelGuided(const Space& space, StrategyOptions&& options) {
    if (!options.model)
        return inputError("the strategy model-guided needs a cost model, and none was given: use random");
    options.guided.seed = options.seed;
    options.guided.cost = std::move(options.cost);
    return Made(std::make_unique<ModelGuidedStrategy>(space, options.model(), std::move(options.guided)));
}

Made grid(const Space& space, StrategyOptions&&) {
    TS_ASSIGN(auto strategy, GridStrategy::make(space));
    return Made(std::move(strategy));
}

constexpr Row kRows[] = {
    {{"model-guided", "Model-guided",
      "Learns from every measurement which candidates are fast and anneals on what it learned",
      StrategyNeed::model},
     modelGuided},
    {{"random", "Random", "Draws candidates at random: slow, but a fair yardstick", StrategyNeed::nothing},
     [](const Space& space, StrategyOptions&& options) -> Made {
         return Made(std::make_unique<RandomStrategy>(space, options.seed));
     }},
    {{"grid", "Grid", "Tries every candidate in order: for small spaces", StrategyNeed::index}, grid},
    {{"annealing", "Simulated annealing",
      "Steps from candidate to candidate, at first also to slower ones; only measurements guide it",
      StrategyNeed::nothing},
     [](const Space& space, StrategyOptions&& options) -> Made {
         return makeAnnealing(space, options.seed, std::move(options.cost));
     }},
    {{"genetic", "Genetic", "Crosses and mutates the fastest candidates; the first 100 are random",
      StrategyNeed::nothing},
     [](const Space& space, StrategyOptions&& options) -> Made {
         return makeGenetic(space, options.seed, std::move(options.cost));
     }},
    {{"bandit", "Bandit of techniques",
      "Lets evolution, mutations and a simplex compete and prefers whichever found improvements lately",
      StrategyNeed::choices},
     [](const Space& space, StrategyOptions&& options) {
         return makeBandit(space, options.seed, std::move(options.cost));
     }},
    {{"coordinate", "Coordinate descent",
      "Improves one setting at a time and starts anew when none is left: quick with few measurements",
      StrategyNeed::choices},
     [](const Space& space, StrategyOptions&& options) {
         return makeCoordinateDescent(space, options.seed, std::move(options.cost));
     }},
};

const Row* rowOf(std::string_view name) {
    const auto found = std::ranges::find(kRows, name, [](const Row& row) { return row.entry.name; });
    return found == std::end(kRows) ? nullptr : &*found;
}

} // namespace

std::span<const StrategyEntry> strategyTable() {
    static const std::vector<StrategyEntry> kTable = [] {
        std::vector<StrategyEntry> out;
        for (const Row& row : kRows)
            out.push_back(row.entry);
        return out;
    }();
    return kTable;
}

Status checkStrategyName(std::string_view name) {
    if (rowOf(name))
        return {};
    std::string known;
    for (const Row& row : kRows)
        known += (known.empty()                 ? ""
                  : &row == std::end(kRows) - 1 ? " or "
                                                : ", ") +
                 std::string(row.entry.name);
    return inputError("there is no strategy '" + std::string(name) + "'; use " + known);
}

bool canSearch(const StrategyEntry& strategy, const Space& space) {
    return (strategy.needs != StrategyNeed::index || space.indexed()) &&
           (strategy.needs != StrategyNeed::choices || space.choices());
}

Result<std::unique_ptr<Strategy>> makeStrategy(std::string_view name, const Space& space,
                                               StrategyOptions options) {
    TS_TRY(checkStrategyName(name));
    return rowOf(name)->make(space, std::move(options));
}

} // namespace tunesmith
