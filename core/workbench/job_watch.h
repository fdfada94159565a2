// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <mutex>

#include "core/jobs/stage_board.h"
#include "core/workbench/tune_jobs.h"

namespace tunesmith {

JobSlice sliceOf(const TimedStage& stage);
std::vector<JobWait> waitsOf(const std::vector<TimedStage>& waiting, const std::vector<TimedStage>& running, const std::vector<Resource>& resources);
std::map<std::string, std::vector<int>> unitsOf(const TimedStage& stage); // of resources that have units

// Tells a listener what the jobs of a board do, never two things at once. From any thread; with the lock of nothing else held.
class JobWatch {
public:
    JobWatch(const StageBoard& board, TuneJobsListener* listener) : board_(board), listener_(listener) {}

    void tellStages(); // those that have ended since it was told last, those that run and those that wait; after each that begins or ends, and now and then
    void tell(const JobStanding& standing);

private:
    const StageBoard& board_;
    TuneJobsListener* listener_; // null: nobody listens
    std::mutex mutex_;
    std::size_t told_ = 0; // slices; guarded by mutex_
};

// How one job stands, from what its tuning tells and others wish. From any thread.
class StandingWatch {
public:
    StandingWatch(JobWatch& watch, JobStanding standing) : watch_(watch), standing_(std::move(standing)) { watch_.tell(standing_); }

    void onWish(int priority, bool paused); // by others
    void onQueued(); // again
    void onBegin(double fraction, std::int64_t trials); // having come so far
    void onLeg();
    void onTasks(const std::vector<TuningTask>& tasks);
    void onTrial(const TuneTrial& trial);
    void onProgress(double fraction);
    void onEnd(const std::string& state, const std::string& error, const JobOutcome& outcome = {});
    double fraction() const;

private:
    JobWatch& watch_;
    mutable std::mutex mutex_; // guards what follows
    JobStanding standing_;
    std::map<std::string, std::size_t> counts_; // of kernels in the model, by workload
    std::map<std::string, double> bests_;       // ms
};

} // namespace tunesmith
