// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/retrace.h"

#include <algorithm>

#include "core/optimize/search_run.h"

namespace tunesmith::optimize {
namespace {

StatePtr stepped(SearchRun& run, const StatePtr& from, const PlacedRule& step) {
    const std::vector<Move>& moves = run.movesOf(from);
    const auto move = std::ranges::find_if(moves, [&](const Move& each) { return each.rule == step.rule && placeOf(from->draft, each.match) == step.place; });
    return move == moves.end() ? nullptr : run.child(from, Move(*move), SearchRun::Seen::again);
}

} // namespace

Place placeOf(const Draft& draft, const Match& match) {
    Place place{draft.value(draft.output(match.anchor)).label};
    for (const ValueNo value : match.values)
        place.push_back(value < draft.values() ? draft.value(value).label : value);
    std::ranges::sort(place); // rules that put things together find them in an order that depends on what is around
    place.push_back(match.way);
    return place;
}

Result<Retraced> retrace(const Draft& start, const RuleSet& rules, DraftCost& cost, const std::vector<PlacedRule>& way, const StopToken& stop) {
    const GraphSearchOptions options;
    const GraphSearchObserver nobody;
    SearchRun run(rules, cost, options, stop, nobody);
    TS_TRY(run.begin(start));
    Retraced again;
    StatePtr at = run.start();
    for (std::size_t i = 0; i < way.size() && !stop.stopRequested(); ++i) {
        if (StatePtr next = stepped(run, at, way[i]))
            at = std::move(next);
        else
            again.lost.push_back(i);
    }
    if (stop.stopRequested())
        return cancelledError();
    again.found = run.finish(StopReason::exhausted);
    again.found.best = at;
    again.found.leaders = {at};
    again.found.refusals = {};
    again.found.curve = {{0, 0, again.found.start->cost, 0}, {0, again.found.generated, at->cost, again.found.seconds}};
    return again;
}

} // namespace tunesmith::optimize
