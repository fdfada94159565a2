// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "core/search/search_session.h"
#include "core/store/rows.h"

namespace tunesmith {

// Trials as the store keeps them. `cost`: of an ok trial, smaller is better; without one, its first objective is such a cost.
Trial trialFromRow(const TrialRow& row);
TrialRow rowFromTrial(const Trial& trial, RunId run, const std::string& workload, int featureVersion, std::optional<double> cost = {});

// The numbers of a run's trials (`trial.idx`): each proposal's place in the trail, so that a batch that is tried again after a kill fills its own gaps.
class TrialNumbers {
public:
    void take(std::int64_t number) { used_.insert(number); } // by a stored trial
    // Of the configs of a batch that are still to be tried.
    std::vector<std::int64_t> next(const SearchSession::Batch& batch);
    std::size_t proposals() const { return proposed_; } // so far; the number of the first of the next batch

private:
    std::set<std::int64_t> used_;
    std::size_t proposed_ = 0;
};

} // namespace tunesmith
