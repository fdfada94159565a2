// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// The trial database as the applications see it. An empty path means the default store in the user's data
// folder.

struct StoreHealth {
    bool ok = true;
    std::vector<std::string> problems;
    std::int64_t runs = 0, trials = 0;
};
Result<StoreHealth>
checkStore(const std::string& store); // a damaged file is a result, one that cannot be opened an error

struct StoreContents {
    std::string path;
    int version = 0;
    std::int64_t fileBytes = 0, logBytes = 0, freeBytes = 0;
    std::int64_t machines = 0, targets = 0, models = 0, workloads = 0, runs = 0, trials = 0, records = 0, rules = 0;
    std::vector<std::pair<std::string, std::int64_t>> trialsByStatus;
};
Result<StoreContents> storeContents(const std::string& store);

struct StoreCleaning {
    std::int64_t rowsRemoved = 0, bytesFreed = 0;
};
Result<StoreCleaning> cleanStore(const std::string& store); // drops what no run refers to

struct RunSummary {
    std::int64_t id = 0;
    std::string model, target, strategy, state, stopReason; // state: RUNNING, STOPPED, COMPLETED, FAILED
    std::int64_t startedAt = 0;                             // ms since 1970
    std::optional<double> beforeMs, afterMs;
    int threads = 1;        // that it tuned for
    bool resumable = false; // stopped, failed, its process is gone, or the legs after it were not begun
    std::string space;      // that it searched: a key of tuneSpaces()
};
Result<std::vector<RunSummary>> tuningRuns(const std::string& store,
                                           const std::string& modelHash = {}); // newest first

struct RunPoint {
    std::int64_t index = 0;
    std::string status;
    std::optional<double> ms, bestMs, predicted;
};

struct RunCurve {
    std::string workload, name, op, shape;
    std::int64_t trials = 0, failed = 0, budget = 0;
    int occurrences = 1; // in the model
    double space = 0, flops = 0;
    std::optional<double> bestMs, firstMs; // firstMs: of the untuned schedule; both from the final once there was one
    std::vector<RunPoint> points;
};
Result<std::vector<RunCurve>> runCurves(const std::string& store, std::int64_t run);

} // namespace tunesmith
