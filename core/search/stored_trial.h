// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "core/search/search_session.h"
#include "core/store/rows.h"

namespace tunesmith {

// A trial as the store keeps it. `cost`: of an ok trial, smaller is better; without one, its first objective is such a cost.
TrialRow rowFromTrial(const Trial& trial, RunId run, const std::string& workload, int featureVersion, std::optional<double> cost = {});

// The numbers of a run's trials (`trial.idx`): each proposal's place in the trail, so that a batch that is tried again after a kill fills its own gaps.
class TrialNumbers {
public:
    void take(std::int64_t number) { used_.insert(number); } // by a stored trial
    // Of the configs of a batch that are still to be tried.
    std::vector<std::int64_t> next(const SearchSession::Batch& batch);
    // Takes the first one from there on that is free: of a trial that nobody proposed.
    std::int64_t takeFree(std::int64_t from);
    std::size_t proposals() const { return proposed_; } // so far; the number of the first of the next batch

private:
    std::set<std::int64_t> used_;
    std::size_t proposed_ = 0;
};

struct KnownTrial {
    Trial trial;
    bool isFinal = false;
};

// The trials of an earlier part of a run, in the order of the rows; `numbers` takes the numbers of all. A store may come from anybody: trials
// whose config is not of the space, or that worked without an objective that is a number, are left out with one warning. All else may rely on
// what is given here.
std::vector<KnownTrial> knownTrials(const std::vector<TrialRow>& rows, const Space& space, TrialNumbers& numbers);

} // namespace tunesmith
