// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <mutex>

#include "core/schedule/task_share.h"
#include "core/schedule/workload_search.h"

namespace tunesmith {

// The pipeline of a tuning run: propose and build batch n + 1 while batch n is measured, store, deliver, finish workloads.
class TunerLoop {
public:
    TunerLoop(Store& store, const TuneObserver& observer, RunId run, const TuneOptions& options, const Target& target,
              const MachineRow& machine, const StopToken& stop);
    void add(std::unique_ptr<WorkloadSearch> search);
    static bool isShared(const TuneOptions& options) { return options.totalTrials || options.seconds || options.targetMs; } // the budget, by all workloads

    Result<TuneResult> go(); // the run must be RUNNING and ours; ends it in the store

private:
    Status work();
    Status readRecords();
    std::optional<double> knownMs() const; // of the model, by what was found and what was known before; none until all its kernels have a time
    bool isGoalMet() const;
    Result<std::optional<BatchUnderWay>> prepare();
    std::optional<std::size_t> pick() const;
    std::size_t trialsLeft() const;
    std::size_t largestBatch(std::size_t index) const;
    Status deliver(BatchUnderWay& batch);
    void closeWhenSpent();
    void build(BatchUnderWay& batch) const;
    Status measure(BatchUnderWay& batch);
    Trial measureOne(BatchUnderWay& batch, std::size_t index);
    Status store(const BatchUnderWay& batch, const Trial& trial, std::size_t index);
    Status finishDone();
    Status finish(WorkloadSearch& search);
    Status holdFinal(WorkloadSearch& search);

    Result<std::unique_ptr<StageGate::Turn>> turn(const char* stage, const StageNeed& need) const;
    int builders() const { return std::max(1, overlap_ ? besideBuilders_ : options_.workers.builders); }
    bool timeIsUp() const { return options_.seconds && elapsed() >= *options_.seconds; }
    double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }
    StopReason reasonOfRun() const;
    TuneResult result(StopReason reason, std::string message) const;
    TuneEvent event(TuneEvent::Kind kind, const WorkloadSearch* search) const;
    void tell(const TuneEvent& event);

    Store& store_;
    const TuneObserver& observer_;
    RunId run_;
    TuneOptions options_;
    Target target_;
    MachineRow machine_;
    StopToken stop_;
    bool overlap_;
    int besideBuilders_; // builders that work while something is measured
    std::vector<std::unique_ptr<WorkloadSearch>> searches_;
    TaskShare share_{{}};
    std::map<std::string, double> records_; // ms of workloads before this run, where there is a goal
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    double measuring_ = 0; // seconds
    std::mutex telling_;
};

} // namespace tunesmith
