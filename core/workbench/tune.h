// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/schedule/kernel_messages.h"
#include "core/schedule/stage_gate.h"
#include "core/workbench/remote.h"
#include "core/workbench/tasks.h"

namespace tunesmith {

struct TuneBudget {
    std::optional<std::int64_t> trialsPerWorkload, trials; // trials: in all
    std::optional<double> seconds;
    std::optional<double> targetMs; // of the model's kernels together: enough once they take no longer, tuned now or before
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

// One after the other, a run for each thread count.
struct TuneLeg {
    int threads = 1;
    int index = 0, count = 1; // which of how many
};

// Watches the runs. Called in order, never by two threads at once, but from different threads: be quick, queue
// what is slow.
class TuneListener {
public:
    virtual ~TuneListener() = default;
    virtual void onProgress(const Progress&) {}    // fraction: of the whole budget
    virtual void onLeg(const TuneLeg& /*leg*/) {} // what follows is about this one
    virtual void onTasks(const std::vector<TuningTask>&) {
    }                                           // what will be tuned; once a leg, before its first trial
    virtual void onRun(std::int64_t /*run*/) {} // its id in the store
    virtual void onTrial(const TuneTrial&) {}
    virtual void onTaskDone(const std::string& /*workload*/, const std::string& /*stopReason*/) {}
};

struct TuneRequest {
    std::string store;    // empty: the default store
    TuneBudget budget;    // empty: 64 trials per workload; --trials and --time are shared by the legs
    std::string strategy; // empty: the first of tuneStrategies()
    std::string space;    // of schedules; empty: the first of tuneSpaces(). A resumed run keeps its own
    int threads = 0;      // of the target; 0: one thread, and after that all cores
    int builders = 0;     // processes that compile candidates; 0: one per core
    std::uint64_t seed = 1;
    double timeoutSeconds = 10;         // of one candidate's measurement
    int batch = 0;                      // candidates that are proposed at once; 0: the tuner's own choice
    bool transfer = true;               // learn from earlier runs
    std::optional<std::int64_t> resume; // a run that was stopped or killed
    bool measureModel = true;           // before and after, at the end
    bool layouts = false; // then plan the layouts by measured costs, with a quarter of the budget
    std::optional<DeviceChoice> device; // of a tracker, instead of this machine; times of the whole model are then sums of its kernels
    std::shared_ptr<StageGate> gate; // where others use the machine at the same time
    StopToken stop;
    TuneListener* listener = nullptr;
};

struct TunedTask {
    TuningTask task;
    int threads = 1;
    std::int64_t trials = 0, failed = 0;
    std::optional<double> firstMs, bestMs; // firstMs: of the untuned schedule
    double gflops = 0;                     // at bestMs
    std::string config;                    // the best
    std::string stopReason;
};

// What planning the layouts of a whole model came to.
struct TunedLayouts {
    std::int64_t run = 0;    // in the store, from where compiling takes the plan; 0 where too little could be measured
    bool kept = false;       // the plan is certainly faster, and used from now on
    bool proven = false;     // nothing is cheaper by what was measured
    std::size_t changed = 0; // values and readers that the plan gives other layouts than the greedy choice
    std::int64_t trials = 0; // of kernels in other layouts, and of conversions
    double greedyPredictedMs = 0, plannedPredictedMs = 0; // sums of kernels and conversions
    std::optional<double> greedyMs, plannedMs;            // the whole model, in turns; none where the plan is the greedy one
    std::string text;                                     // "layouts: 12 values differ ..."
};

// What one leg came to.
struct TunedRun {
    std::int64_t run = 0;
    int threads = 1;
    std::string space; // key of tuneSpaces()
    std::int64_t trials = 0, failed = 0; // of the whole run, also before it was resumed
    double seconds = 0;                  // of this part
    double measuringSeconds = 0;         // of those: in which kernels were timed
    std::string stopReason;              // "budget_trials", "cancelled", ...
    std::string message;                 // why it failed, when it did
    // Latency (p5) of the whole model, untuned and tuned, measured in turns after tuning. Where that was left
    // out (stopped, not asked for): the sums of the kernels' times.
    std::optional<double> beforeMs, afterMs;
    std::size_t givenUp = 0; // schedules that won alone but were slower in the model; their tasks have the untuned one
    std::optional<TunedLayouts> layouts;
    std::vector<TunedTask> tasks;
};

struct TuneReport {
    std::vector<TunedRun> runs; // at least one
    bool unfinished = false;    // it was stopped, or failed
    std::int64_t handle() const { return runs.front().run; } // resuming this one goes on with all of them
    const TunedRun& last() const { return runs.back(); }
    std::int64_t trials() const;
    std::int64_t failed() const;
    std::string failure() const; // why nothing came of it, although it was not stopped; empty where something did
    double seconds() const;
};

struct StrategyInfo {
    std::string key, name, help;
};
const std::vector<StrategyInfo>& tuneStrategies();
// Whose schedules are searched.
const std::vector<StrategyInfo>& tuneSpaces();

// Tunes all workloads of a model, for one thread count after the other; a later leg starts from what an earlier one found. A
// stop is no error: the last run says stopReason "cancelled" and what was reached, and can be resumed; the legs that were to
// follow it then follow. The same goes for a run whose process was killed.
Result<TuneReport> tuneModel(const Model& model, const TuneRequest& request);

} // namespace tunesmith
