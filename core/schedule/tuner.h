// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/schedule/schedule_problem.h"
#include "core/schedule/stage_gate.h"
#include "core/search/search_event.h"
#include "core/search/strategy_table.h"
#include "core/store/store.h"

namespace tunesmith {

struct TuneTask {
    Workload workload;
    int count = 1; // how often it occurs in the model
    std::vector<Config> starts = {}; // to be tried at once, where its space has them
};

// At least one of the budgets; with several, whichever ends first. Stored with the run, all but `workers` and executors.
struct TuneOptions {
    std::optional<std::size_t> trialsPerWorkload; // small spaces are tried whole and end before
    std::optional<std::size_t> totalTrials;       // shared: a batch goes where it promises most (task_share.h)
    std::optional<double> seconds;                // of this part of the run; shared likewise
    // Ends the run once the model's kernels take no longer together, each as often as it occurs: those found, or records of this machine from before.
    std::optional<double> targetMs;
    std::string strategy{strategyTable().front().name}; // any name of core/search/strategy_table.h
    std::uint64_t seed = 0;
    std::size_t batch = 8;
    bool transfer = true;              // try records of earlier runs at once
    SpaceKind space = SpaceKind::tunesmith; // that was asked for; each task's workload says what it is tuned over
    std::optional<bool> overlapBuilds; // build while measuring; default: when the target leaves a core free
    KernelWorkerOptions workers;
    std::shared_ptr<KernelExecutor> executor; // where kernels are built and measured; none: by `workers`, on this machine
    std::vector<std::shared_ptr<KernelExecutor>> moreExecutors = {}; // of the same kind, on other devices: workloads are spread over all of them as each gets its device
    std::vector<int> followedBy; // thread counts to tune for after this run, and the run before it: kept with the run
    RunId follows;               // for whoever resumes; may be none
    ModelId model;       // may be none
    std::string kind = "tune"; // of the run; only this kind can be resumed
    std::string version; // of the program
    std::shared_ptr<StageGate> gate; // none: the run has the machine to itself
};

struct TuneEvent {
    enum class Kind { started, measured, improved, workloadDone, message, stopped };
    Kind kind = Kind::message;
    RunId run;
    std::string workload, name;     // key and name for people; empty when it is about the run
    std::optional<Trial> trial;     // measured, improved; with what the cost model had predicted
    std::size_t trials = 0;         // of this workload so far
    std::size_t budget = 0;         // of this workload; 0: no limit
    std::optional<double> bestMs;   // of this workload
    std::optional<double> defaultMs; // of its untuned config
    std::size_t allTrials = 0;      // of the run
    std::size_t allBudget = 0;      // of the run; 0: not limited by trials
    double seconds = 0;             // since this part of the run began
    std::string text;
    std::optional<StopReason> reason; // workloadDone, stopped
};
// Called in order, never by two threads at a time, but from different threads: be quick.
using TuneObserver = std::function<void(const TuneEvent&)>;

struct TunedWorkload {
    std::string key, name, space;
    double spaceSize = 0;
    int count = 1;
    std::size_t trials = 0, failed = 0;
    std::optional<double> defaultMs, bestMs;
    std::string best; // config
    double gflops = 0; // at the best time
    std::optional<StopReason> reason;
};

struct TuneResult {
    RunId run;
    StopReason reason = StopReason::budgetTrials;
    std::string message;
    double seconds = 0;
    double measuringSeconds = 0; // of those: in which kernels were timed, on several devices in the mean; the rest waited for builds or proposals
    std::size_t trials = 0, failed = 0;
    // Sums of the kernels' times, each as often as it occurs: what tuning changes of a model's latency. None while a
    // workload has no time.
    std::optional<double> beforeMs, afterMs;
    std::vector<TunedWorkload> workloads;
};

// Tunes the workloads of a model for one target and keeps every trial in the store at once.
//
// While one batch is measured the next one is proposed and built, so that a strategy sees results one batch late: for all
// runs alike, because the trail depends on it. Builds run beside a measurement only where the target leaves a core free.
// Candidates are timed in turns with the best so far, and a workload ends with a final (final.h) whose winner is stored as one
// more trial.
//
// With several executors each tunes workloads of its own, at the same time. A workload's trail is the same as with one, unless workloads share the budget.
//
// A stop leaves a run that resume() continues: the trail is taken over from the stored trials and goes on exactly as it
// would have; only what was under way is repeated.
class Tuner {
public:
    Tuner(Store& store, TuneObserver observer = {}) : store_(store), observer_(std::move(observer)) {}

    // Errors are what keeps a run from beginning or being stored; a stop is no error.
    Result<TuneResult> run(const std::vector<TuneTask>& tasks, const Target& target, const TuneOptions& options,
                           const StopToken& stop = {});
    // Budgets, strategy and seed are the run's own; from `options` come the workers and, if set, new seconds.
    Result<TuneResult> resume(RunId run, const TuneOptions& options, const StopToken& stop = {});

private:
    Store& store_;
    TuneObserver observer_;
};

} // namespace tunesmith
