// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/stop_token.h"
#include "core/search/problem.h"
#include "core/search/search_event.h"
#include "core/search/strategy.h"

namespace tunesmith {

// These bound what a caller or a store asks of a search. No stop ends a proposal, so a batch is small.
inline constexpr std::size_t kMostBatch = 4096;
inline constexpr std::int64_t kMostTrials = std::int64_t(1) << 40;

// When to stop. None set: until the space is exhausted.
struct SearchBudget {
    std::optional<std::size_t> trials;   // all together, those of an earlier part of the run included
    std::optional<double> seconds;       // of this part of the run
    std::optional<double> targetCost;    // good enough
    std::optional<std::size_t> patience; // trials without anything better
};

struct SearchOptions {
    SearchBudget budget;
    std::size_t batch = 8;
    std::string subject; // for events: workload, problem
    StopToken stop;
    SearchObserver* observer = nullptr;
    std::function<double(const Trial&)>
        cost; // of an ok trial, lower is better; default: the value of its first objective
    std::function<double()> clock; // seconds; for tests. Default: the steady clock
};

// Trials of an earlier part of the run, in their order. Without `sessionState` (or with "") the strategy is
// taken over the whole trail again: it proposes, what is stored is not measured twice, and the trail goes on
// as if it had never been interrupted. With the state that was saved after `session.saveState()` only what
// came later is taken over so.
struct StoredTrail {
    std::vector<Trial> trials;
    std::string sessionState;
};

struct SearchResult {
    StopReason reason = StopReason::budgetTrials;
    std::string message;
    std::vector<Trial> trials; // in the order of the proposals
    std::optional<std::size_t> best;
    double seconds = 0;
};

// The loop of every search over configs, in single steps so that a job can build the next batch while this
// one is profiled: next() - try what it asks for - deliver(), in the order of the batches. A second next()
// may come before the first deliver(). The trail depends on this order only. One thread at a time; borrows
// space and strategy.
class SearchSession {
public:
    struct Batch {
        std::size_t index = 0;
        std::vector<Config> configs;              // what the strategy proposed
        std::vector<std::optional<Trial>> stored; // per config: known from an earlier part of the run
        std::vector<Config> toTry() const;        // the configs without a stored trial
    };

    SearchSession(const Space& space, Strategy& strategy, SearchOptions options);

    Status resume(StoredTrail trail); // before the first next()

    // At most `most` configs. None: nothing more is to be begun. Then deliver what is still under way; the reason stands once
    // all is delivered.
    std::optional<Batch> next(std::size_t most = std::numeric_limits<std::size_t>::max());
    // Nothing more is to be begun, because a budget that it shares with other sessions is used up.
    void close(StopReason reason) { reason_ = reason_.value_or(reason); }

    // One trial per config of batch.toTry(), in that order. Cancelled ones are dropped: they are tried again
    // on resume.
    void deliver(const Batch& batch, std::vector<Trial> trials);

    void fail(std::string message); // the evaluation itself broke: the search ends with StopReason::failed

    bool finished() const { return reason_ && underWay_ == 0; }
    std::optional<StopReason> reason() const { return reason_; }
    const std::vector<Trial>& trials() const { return trials_; }
    std::optional<double> bestCost() const { return bestCost_; }
    SearchResult result(); // ends the search if it has not ended; tells the observer once

    // JSON text: the strategy's state and how many trials it accounts for. Only between batches (nothing
    // under way).
    std::string saveState() const;

private:
    std::optional<StopReason> reasonToStop() const;
    void accept(Trial trial, const Config& asked, bool fresh);
    void takeOverRest();
    std::optional<Trial> takeStored(const Config& config);
    SearchEvent event(SearchEvent::Kind kind) const;
    void tell(const SearchEvent& event) const;

    const Space& space_;
    Strategy& strategy_;
    SearchOptions options_;
    double begun_ = 0;
    std::vector<Trial> trials_;
    std::unordered_map<std::uint64_t, std::deque<Trial>>
        stored_; // not yet taken over, by hash of the asked config
    std::size_t proposed_ = 0;
    std::size_t batches_ = 0;
    std::size_t underWay_ = 0;
    std::size_t improvedAt_ = 0;
    std::optional<std::size_t> best_;
    std::optional<double> bestCost_;
    std::optional<StopReason> reason_;
    std::string message_;
    bool told_ = false;
};

// The simple form: one batch after the other until the budget is used up.
using Evaluate = std::function<Result<std::vector<Trial>>(std::span<const Config> configs)>;
SearchResult runSearch(const Space& space, Strategy& strategy, const Evaluate& evaluate,
                       SearchOptions options, StoredTrail trail = {});

// Evaluates one config after the other through a problem, in this thread.
Evaluate evaluateWith(Problem& problem, ProfileLimits limits);

} // namespace tunesmith
