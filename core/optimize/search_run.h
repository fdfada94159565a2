// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <deque>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "core/base/rng.h"
#include "core/optimize/graph_search.h"

namespace tunesmith::optimize {

// Inside core/optimize: what every strategy does its work with: making the drafts one rewrite away, counting, knowing when to stop.
class SearchRun {
public:
    SearchRun(const RuleSet& rules, DraftCost& cost, const GraphSearchOptions& options, const StopToken& stop, const GraphSearchObserver& observer)
        : rules_(rules), cost_(cost), options_(options), stop_(stop), observer_(observer), random(options.seed) {}

    Status begin(const Draft& draft);
    GraphSearchResult finish(StopReason reason);

    const GraphSearchOptions& options() const { return options_; }
    DraftCost& cost() { return cost_; }
    const StopToken& stop() const { return stop_; }
    const StatePtr& start() const { return result_.start; }
    const StatePtr& best() const { return result_.best; }

    // Whether the search must end; why() says by what.
    bool stopped();
    StopReason why() const { return reason_; }

    // What can be done in a state, found near what changed since its parent where the parent's moves are still remembered.
    const std::vector<Move>& movesOf(const StatePtr& state);

    // The draft one move away, unless the rule refuses, it grows too large, or it was seen before (with `again` it is made all the same).
    enum class Seen : std::uint8_t { skip, again };
    StatePtr child(const StatePtr& parent, const Move& move, Seen seen = Seen::skip);
    // All of them, in the order of the moves; fewer when the search must end. Counts as one expansion.
    std::vector<StatePtr> expand(const StatePtr& parent, Seen seen = Seen::skip);
    void countExpansion();
    double secondsLeft() const { return options_.seconds > 0 ? options_.seconds - seconds() : std::numeric_limits<double>::infinity(); }

private:
    double seconds() const { return options_.now() - began_; }
    void note(const StatePtr& state);
    void forgetOldMoves();
    GraphSearchProgress progress() const { return {result_.expanded, result_.generated, result_.best->cost, seconds()}; }

    const RuleSet& rules_;
    DraftCost& cost_;
    const GraphSearchOptions& options_;
    const StopToken& stop_;
    const GraphSearchObserver& observer_;
    GraphSearchResult result_;
    std::unordered_set<std::uint64_t> seen_;
    std::unordered_map<const State*, std::vector<Move>> moves_;
    std::deque<StatePtr> withMoves_; // in the order in which they were asked for
    std::size_t movesKept_ = 0, bytesKept_ = 0; // of those states
    const double began_ = options_.now();
    std::size_t mostNodes_ = 0;
    StopReason reason_ = StopReason::exhausted;

public:
    Rng random;
};

// The strategies; each runs until nothing is left or run.stopped().
void searchGreedily(SearchRun& run);
void searchBacktracking(SearchRun& run);
void searchBeam(SearchRun& run);
void searchTree(SearchRun& run);
void searchEqualities(SearchRun& run);

} // namespace tunesmith::optimize
