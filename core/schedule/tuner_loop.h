// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <mutex>

#include "core/schedule/tuner_lane.h"

namespace tunesmith {

// A tuning run from its first batch to its end in the store: its lanes, what is told of it, what it comes to.
class TunerLoop {
public:
    TunerLoop(Store& store, const TuneObserver& observer, RunId run, const TuneOptions& options, const Target& target,
              const MachineRow& machine, const StopToken& stop);
    void add(std::unique_ptr<WorkloadSearch> search) { pool_.add(std::move(search)); }

    Result<TuneResult> go(); // the run must be RUNNING and ours; ends it in the store

private:
    Result<std::map<std::string, double>> readRecords() const;
    Status work();
    bool timeIsUp() const { return options_.seconds && elapsed() >= *options_.seconds; }
    double elapsed() const { return now() - begun_; } // worked, where a gate tells that apart from waiting
    double now() const;
    StopReason reasonOfRun() const;
    TuneResult result(StopReason reason, std::string message) const;
    TuneEvent event(TuneEvent::Kind kind, const WorkloadSearch* search) const;
    void tell(const TuneEvent& event) const;
    void tellTrial(WorkloadSearch& search, const Trial& trial, const std::function<void()>& remember);
    void tellDone(const WorkloadSearch& search);

    Store& store_;
    const TuneObserver& observer_;
    const RunId run_;
    const TuneOptions options_;
    const Target target_;
    const MachineRow machine_;
    const StopToken stop_;
    WorkloadPool pool_;
    double measuring_ = 0; // seconds
    const double begun_ = now();
    std::mutex telling_; // guards what searches remember of their trials, and the observer
};

} // namespace tunesmith
