// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/graph_search.h"

#include <algorithm>

#include "core/optimize/search_run.h"

namespace tunesmith::optimize {
namespace {

struct Strategy {
    GraphStrategyInfo info;
    void (*run)(SearchRun&);
};

const std::vector<Strategy>& strategies() {
    static const std::vector<Strategy> all{
        {{"greedy", "the cheapest draft one rewrite away, as long as that is cheaper"}, searchGreedily},
        {{"backtracking", "the cheapest draft first, up to alpha times as dear as the best"}, searchBacktracking},
        {{"beam", "the cheapest drafts of each depth"}, searchBeam},
        {{"mcts", "Monte-Carlo tree search: random continuations tell where to go on"}, searchTree},
        {{"egraph", "equality saturation: what all rewrites together could give, extracted by integer programming"}, searchEqualities},
    };
    return all;
}

} // namespace

std::vector<StatePtr> trailOf(const StatePtr& state) {
    std::vector<StatePtr> trail;
    for (StatePtr at = state; at; at = at->parent)
        trail.push_back(at);
    std::ranges::reverse(trail);
    return trail;
}

std::vector<GraphStrategyInfo> graphStrategies() {
    std::vector<GraphStrategyInfo> infos;
    std::ranges::transform(strategies(), std::back_inserter(infos), &Strategy::info);
    return infos;
}

Result<GraphSearchResult> searchGraph(const Draft& start, const RuleSet& rules, DraftCost& cost, const GraphSearchOptions& options, const StopToken& stop,
                                      const GraphSearchObserver& observer) {
    const auto strategy = std::ranges::find(strategies(), options.strategy, [](const Strategy& each) { return each.info.name; });
    if (strategy == strategies().end())
        return inputError("there is no graph search '" + options.strategy + "'; see --help for those that there are");
    SearchRun run(rules, cost, options, stop, observer);
    TS_TRY(run.begin(start));
    strategy->run(run);
    const bool stopped = run.stopped();
    return run.finish(stopped ? run.why() : StopReason::exhausted);
}

} // namespace tunesmith::optimize
