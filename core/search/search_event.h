// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/search/trial.h"

namespace tunesmith {

// Why a search ended. Every search says so: strategies over configs, graph searchers and agents. Names are
// stored.
enum class StopReason {
    budgetTrials,
    budgetTime,
    cancelled,
    exhausted,     // nothing left to try
    targetReached, // as good as was asked for
    converged,     // no better for as long as was asked for
    failed,        // the search itself broke; the message says how
};
std::string_view stopReasonName(StopReason reason);     // "budget_trials"
std::string_view stopReasonSentence(StopReason reason); // for people
std::optional<StopReason> stopReasonFromName(std::string_view name);

// What a search tells while it runs. Window, log, database and tests are observers of the same stream.
struct SearchEvent {
    enum class Kind {
        started,
        proposed, // a candidate (config, rewrite) is about to be tried
        measured, // a trial or a rewritten graph has its cost
        accepted, // a rewrite or move was taken
        refused,  // ... or not, and why
        improved, // the best so far got better
        learned,  // the cost model was fitted again
        message,
        stopped,
    };
    Kind kind = Kind::message;
    std::string subject;              // workload, rule, strategy ...
    std::string text;                 // reason or remark, for people
    std::size_t step = 0;             // trials (or rewrites) so far
    double seconds = 0;               // since the search started
    std::optional<double> cost;       // of this candidate, lower is better
    std::optional<double> best;       // so far
    std::optional<Trial> trial;       // with measured
    std::optional<StopReason> reason; // with stopped
};
std::string_view eventKindName(SearchEvent::Kind kind);

// Called in order, from the thread that drives the search: be quick, queue what is slow.
class SearchObserver {
public:
    virtual ~SearchObserver() = default;
    virtual void onEvent(const SearchEvent& event) = 0;
};

} // namespace tunesmith
