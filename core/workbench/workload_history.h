// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/stop_token.h"

namespace tunesmith {

// One workload over all stored runs, of whatever model: which strategy finds fast configs in how many trials.

struct BestSoFar {
    std::int64_t trial = 0; // within the search, from 1
    double ms = 0;
};

// What one run tried for the workload, without the finals: those time again what the search has found.
struct StoredSearch {
    std::int64_t run = 0;
    std::string strategy; // key
    std::int64_t trials = 0, failed = 0;
    std::vector<BestSoFar> best; // where it falls, ascending; empty when every trial failed
};

// Oldest run first, only runs with trials. Times of different machines and instruction sets do not compare: the runs are those
// of the target of `run`; without that one, of the newest run that tuned this workload for so many threads. Without a store
// there are none.
Result<std::vector<StoredSearch>> workloadSearches(const std::string& store, const std::string& workload, int threads,
                                                   std::optional<std::int64_t> run = {}, const StopToken& stop = {});

} // namespace tunesmith
