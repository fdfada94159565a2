// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/graph_search.h"

#include <algorithm>

#include "core/optimize/partition.h"
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

namespace {

constexpr std::size_t kLarge = 400; // nodes; more are searched in pieces
constexpr std::size_t kPiece = 160;

Result<const Strategy*> findStrategy(const std::string& name) {
    const auto found = std::ranges::find(strategies(), name, [](const Strategy& each) { return each.info.name; });
    if (found == strategies().end())
        return inputError("there is no graph search '" + name + "'; see --help for those that there are");
    return &*found;
}

Result<GraphSearchResult> searchWhole(const Draft& start, const RuleSet& rules, DraftCost& cost, const GraphSearchOptions& options, const StopToken& stop,
                                      const GraphSearchObserver& observer) {
    TS_ASSIGN(const Strategy* const strategy, findStrategy(options.strategy));
    SearchRun run(rules, cost, options, stop, observer);
    TS_TRY(run.begin(start));
    strategy->run(run);
    const bool stopped = run.stopped();
    return run.finish(stopped ? run.why() : StopReason::exhausted);
}

// Piece after piece, each with its share of the budget that is left, then once more with other cuts.
class PieceSearch {
public:
    PieceSearch(const RuleSet& rules, DraftCost& cost, const GraphSearchOptions& options, const StopToken& stop, const GraphSearchObserver& observer)
        : rules_(rules), cost_(cost), options_(options), stop_(stop), observer_(observer) {}

    Result<GraphSearchResult> run(const Draft& start) {
        TS_TRY(findStrategy(options_.strategy).ok() ? Status() : Status(findStrategy(options_.strategy).error()));
        GraphSearchOptions nothing = options_;
        nothing.budget = 0;
        TS_ASSIGN(result_, searchWhole(start, rules_, cost_, nothing, stop_, {})); // simplified
        result_.stopReason = StopReason::exhausted;
        for (const std::size_t offset : {std::size_t(0), kPiece / 2}) {
            const auto pieces = piecesOf(result_.best->draft, kPiece, offset);
            piecesLeft_ = pieces.size() * (offset == 0 ? 2 : 1);
            TS_TRY(searchPieces(offset));
        }
        result_.seconds = seconds();
        result_.leaders = {result_.best};
        result_.curve.push_back(progress());
        return std::move(result_);
    }

private:
    // Pieces lie apart, so what happens to one does not change the others; numbers of nodes stay.
    Status searchPieces(std::size_t offset) {
        const Draft cut = result_.best->draft;
        for (const std::vector<NodeNo>& nodes : piecesOf(cut, kPiece, offset)) {
            if (stopped())
                return {};
            const auto isAlive = [&](NodeNo node) { return result_.best->draft.isAlive(node); };
            if (std::ranges::all_of(nodes, isAlive))
                TS_TRY(searchPiece(cutOut(result_.best->draft, nodes)));
            piecesLeft_ -= piecesLeft_ > 1 ? 1 : 0;
        }
        return {};
    }

    Status searchPiece(const Piece& piece) {
        GraphSearchOptions share = options_;
        share.budget = std::max<std::int64_t>(1, (options_.budget - result_.expanded) / static_cast<std::int64_t>(piecesLeft_));
        if (options_.seconds > 0)
            share.seconds = std::max(0.01, (options_.seconds - seconds()) / static_cast<double>(piecesLeft_));
        const auto within = [this](const GraphSearchProgress& at) {
            if (observer_)
                observer_({result_.expanded + at.expanded, result_.generated + at.generated, result_.best->cost, seconds()});
        };
        TS_ASSIGN(const GraphSearchResult found, searchWhole(piece.draft, rules_, cost_, share, stop_, within));
        result_.expanded += found.expanded;
        result_.generated += found.generated;
        for (const auto& [what, count] : found.refusals.counts)
            result_.refusals.counts[what] += count;
        if (found.stopReason != StopReason::exhausted)
            result_.stopReason = found.stopReason;
        take(piece, found);
        if (observer_)
            observer_(progress());
        return {};
    }

    // The steps on the piece as steps on the whole, if they make that cheaper, too.
    void take(const Piece& piece, const GraphSearchResult& found) {
        StatePtr at = result_.best;
        for (const StatePtr& state : trailOf(found.best)) {
            if (!state->parent && state->step.simplifications.empty())
                continue;
            auto whole = spliced(result_.best->draft, piece, state->draft);
            if (!whole)
                return;
            Step step = state->step;
            step.costBefore = at->cost;
            step.costAfter = cost_.of(*whole);
            at = std::make_shared<State>(State{std::move(*whole), step.costAfter, at, step});
        }
        if (at->cost < result_.best->cost) {
            result_.best = at;
            result_.curve.push_back(progress());
        }
    }

    bool stopped() {
        if (stop_.stopRequested())
            result_.stopReason = StopReason::cancelled;
        else if (result_.expanded >= options_.budget)
            result_.stopReason = StopReason::budgetTrials;
        else if (options_.seconds > 0 && seconds() >= options_.seconds)
            result_.stopReason = StopReason::budgetTime;
        else
            return false;
        return true;
    }

    double seconds() const { return options_.now() - began_; }
    GraphSearchProgress progress() const { return {result_.expanded, result_.generated, result_.best->cost, seconds()}; }

    const RuleSet& rules_;
    DraftCost& cost_;
    const GraphSearchOptions& options_;
    const StopToken& stop_;
    const GraphSearchObserver& observer_;
    GraphSearchResult result_;
    std::size_t piecesLeft_ = 1;
    const double began_ = options_.now();
};

} // namespace

Result<GraphSearchResult> searchGraph(const Draft& start, const RuleSet& rules, DraftCost& cost, const GraphSearchOptions& options, const StopToken& stop,
                                      const GraphSearchObserver& observer) {
    if (start.order().size() <= kLarge)
        return searchWhole(start, rules, cost, options, stop, observer);
    return PieceSearch(rules, cost, options, stop, observer).run(start);
}

} // namespace tunesmith::optimize
