// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>

#include "core/schedule/workload_pool.h"

namespace tunesmith {

// What the lanes of a run have in common.
struct TunerContext {
    Store& store;
    WorkloadPool& pool;
    RunId run;
    TuneOptions options;
    Target target;
    StopToken stop;
    int lanes = 1;
    bool overlap = false;  // build while something is measured ...
    int builders = 1;      // ... by so many
    StopSource enough = {}; // nothing is left for lanes that have no device yet
    std::function<bool()> timeIsUp = {};
    // A trial is told with what its search makes of it, which others must not read meanwhile.
    std::function<void(WorkloadSearch&, const Trial&, const std::function<void()>& remember)> tellTrial = {};
    std::function<void(const WorkloadSearch&)> tellDone = {};
};

// The pipeline of a tuning run on one executor: propose and build batch n + 1 while batch n is measured, store, deliver, finish workloads. A run has a lane for each device that
// it may have; each takes workloads from the pool.
class TunerLane {
public:
    TunerLane(TunerContext& context, KernelExecutor& executor, int number) : context_(context), executor_(executor), number_(number) {}

    // Until nothing is left for it. All but the first wait until there is a device; a stop is no error.
    Status work();
    double measuringSeconds() const { return measuring_; } // after work()

private:
    Status join();
    Status runBatches();
    Status holdOpenFinals();
    bool isOver() const { return context_.stop.stopRequested() || context_.timeIsUp(); }
    bool hasNext() const { return !isOver() && context_.pool.hasNext(number_); }
    Result<std::optional<BatchUnderWay>> prepare(const std::optional<BatchUnderWay>& before);
    Status deliver(BatchUnderWay& batch);
    void build(BatchUnderWay& batch) const;
    Status measure(BatchUnderWay& batch);
    Trial measureOne(BatchUnderWay& batch, std::size_t index);
    Status store(const BatchUnderWay& batch, const Trial& trial, std::size_t index);
    Status finishDone();
    Status finish(WorkloadSearch& search);
    Status holdFinal(WorkloadSearch& search);
    Result<std::unique_ptr<StageGate::Turn>> turn(const std::string& stage, const StageNeed& need, StageGate::Chain* stages);
    std::unique_ptr<StageGate::Chain> stagesAfter(const std::optional<BatchUnderWay>& before) const;
    StageNeed here(StageNeed need) const;

    TunerContext& context_;
    KernelExecutor& executor_;
    const int number_;
    double measuring_ = 0; // seconds
};

} // namespace tunesmith
