// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/tasks.h"

namespace tunesmith {

struct TuneBudget {
    std::optional<std::int64_t> trialsPerWorkload, trials; // trials: in all
    std::optional<double> seconds;
    bool empty() const { return !trialsPerWorkload && !trials && !seconds; }
};

// One measured candidate, as it happens.
struct TuneTrial {
    std::string workload;            // key
    std::int64_t index = 0;          // within the workload, from 0
    std::int64_t budget = 0;         // of the workload; 0: no limit
    std::optional<double> ms;        // none: it failed
    std::optional<double> predicted; // the cost model's score before measuring; higher is better
    std::string status;              // "ok", "build_error", ...
    std::string detail;              // why it failed
    std::string config;
    std::optional<double> bestMs;  // of this workload so far
    std::optional<double> firstMs; // of the untuned schedule
};

// Watches a run. Called in order, never by two threads at once, but from different threads: be quick, queue
// what is slow.
class TuneListener {
public:
    virtual ~TuneListener() = default;
    virtual void onProgress(const Progress&) {} // fraction: of the whole budget
    virtual void onTasks(const std::vector<TuningTask>&) {
    }                                           // what will be tuned; once, before the first trial
    virtual void onRun(std::int64_t /*run*/) {} // its id in the store
    virtual void onTrial(const TuneTrial&) {}
    virtual void onTaskDone(const std::string& /*workload*/, const std::string& /*stopReason*/) {}
};

struct TuneRequest {
    std::string store;    // empty: the default store
    TuneBudget budget;    // empty: 64 trials per workload
    std::string strategy; // empty: the first of tuneStrategies()
    int threads = 0;      // of the target; 0: all cores
    int builders = 0;     // processes that compile candidates; 0: one per core
    std::uint64_t seed = 1;
    double timeoutSeconds = 10;         // of one candidate's measurement
    int batch = 0;                      // candidates that are proposed at once; 0: the tuner's own choice
    bool transfer = true;               // learn from earlier runs
    std::optional<std::int64_t> resume; // a run that was stopped or killed
    bool measureModel = true;           // before and after, at the end
    StopToken stop;
    TuneListener* listener = nullptr;
};

struct TunedTask {
    TuningTask task;
    std::int64_t trials = 0, failed = 0;
    std::optional<double> firstMs, bestMs; // firstMs: of the untuned schedule
    double gflops = 0;                     // at bestMs
    std::string config;                    // the best
    std::string stopReason;
};

struct TuneReport {
    std::int64_t run = 0;
    std::int64_t trials = 0, failed = 0; // of the whole run, also before it was resumed
    double seconds = 0;                  // of this part
    std::string stopReason;              // "budget_trials", "cancelled", ...
    std::string message;                 // why it failed, when it did
    // Latency (p5) of the whole model, untuned and tuned, measured in turns after tuning. Where that was left
    // out (stopped, not asked for): the sums of the kernels' times.
    std::optional<double> beforeMs, afterMs;
    std::vector<TunedTask> tasks;
};

struct StrategyInfo {
    std::string key, name, help;
};
const std::vector<StrategyInfo>& tuneStrategies();

// Tunes all workloads of a model. A stop is no error: the result says stopReason "cancelled" and what was
// reached, and the run can be resumed. The same goes for a run whose process was killed.
Result<TuneReport> tuneModel(const Model& model, const TuneRequest& request);

} // namespace tunesmith
