// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "core/base/result.h"
#include "core/base/stop_token.h"
#include "core/optimize/draft_cost.h"
#include "core/optimize/rule_set.h"
#include "core/search/search_event.h"

namespace tunesmith::optimize {

// Searches for the cheapest of the drafts that rules lead to. All of them see the same rules, costs and budget, start from the simplified
// draft, remember by hash what they have seen, and keep the best at any time. The same options give the same trail as long as the budget is
// one of expansions, not of time.

struct GraphSearchOptions {
    std::string strategy = "backtracking";
    double alpha = 1.05;        // how much dearer than the best a draft may be that is looked at further
    std::int64_t budget = 1000; // expansions: drafts all of whose moves are tried
    double seconds = 0;         // 0: no limit
    std::uint64_t seed = 1;
    std::size_t width = 16;     // of the beam
    double growth = 2;          // times as many nodes as at the start, at most
    std::size_t leaders = 1;    // how many of the cheapest drafts are kept
    std::size_t memory = std::size_t(512) << 20; // bytes of drafts that are kept to go on from, about; what is dropped is made again when it is wanted
    std::function<double()> clock = {}; // seconds; default: the steady clock

    double now() const { return clock ? clock() : std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
};

// Where a rule was applied, by which tensors its match has (DraftValue::label) and not by their numbers: says the same in all drafts of a model.
using Place = std::vector<std::uint64_t>;

// One rewrite on the way to a draft, and the simplifications that followed from it.
struct Step {
    std::uint32_t rule = 0;
    std::vector<std::uint32_t> simplifications;
    double costBefore = 0, costAfter = 0;
    Place place = {}; // empty: nothing but simplifications
};

// A draft that a search has come to.
struct State {
    Draft draft;
    double cost = 0;
    std::shared_ptr<const State> parent; // none: the start
    Step step;
};
using StatePtr = std::shared_ptr<const State>;
std::vector<StatePtr> trailOf(const StatePtr& state); // from the start to it

struct GraphSearchProgress {
    std::int64_t expanded = 0, generated = 0;
    double best = 0, seconds = 0;
};

// A rule that was found in an expanded draft and would not be applied there.
struct Refusals {
    std::map<std::pair<std::uint32_t, std::string>, std::int64_t> counts; // by rule and reason
};

struct GraphSearchResult {
    StatePtr start, best;
    std::vector<StatePtr> leaders; // the cheapest few that were found, best first
    std::int64_t expanded = 0, generated = 0;
    double seconds = 0;
    StopReason stopReason = StopReason::exhausted;
    std::vector<GraphSearchProgress> curve; // whenever the best became better, and at the end
    Refusals refusals;
};

using GraphSearchObserver = std::function<void(const GraphSearchProgress&)>; // from the calling thread, after each expansion
Result<GraphSearchResult> searchGraph(const Draft& start, const RuleSet& rules, DraftCost& cost, const GraphSearchOptions& options, const StopToken& stop = {},
                                      const GraphSearchObserver& observer = {});

struct GraphStrategyInfo {
    std::string name, description;
};
std::vector<GraphStrategyInfo> graphStrategies();

} // namespace tunesmith::optimize
