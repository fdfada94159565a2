// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/jobs/stage_board.h"
#include "core/store/store.h"
#include "core/workbench/device_watch.h"
#include "core/workbench/job_watch.h"
#include "core/workbench/run_legs.h"

namespace tunesmith {

struct JobEnd;

struct StoredJob {
    JobRow row;
    Result<TuneJob> job; // what the row says, or why it cannot be read
};

inline bool canBeTaken(const JobRow& row) { return row.state == JobState::queued || row.interrupted; }

// Inside core/workbench only: the jobs that one program runs, from taking them out of the store to their ends. What others wish of them, and their priorities, are
// read from the store a few times a second; slices are stored as often, progress too.
class JobSession {
public:
    static Result<std::unique_ptr<JobSession>> begin(std::shared_ptr<Store> store, const TuneJobsRequest& request);
    ~JobSession();

    // A job that waits in the store; before run(). Errors are of the store; one that cannot be read fails when its turn comes.
    Status add(StoredJob stored);
    // Until none is left that can run. Errors are of the store; jobs that it keeps from going on are queued again.
    Status run(const Work& work);
    std::vector<TunedJob> results() const; // after run(), in the order of add()
    const StageBoard& board() const { return board_; }

private:
    struct Job;
    class Listener;

    JobSession(std::shared_ptr<Store> store, JobSessionId id, const TuneJobsRequest& request, std::unique_ptr<SchedulingPolicy> policy);
    Status follow();
    Status followJob(Job& job, const JobRow& row);
    Status addNew(const std::vector<JobRow>& rows);
    void requeue(Job& job, const JobRow& row);
    Result<std::int64_t> storedTrials(RunId run);
    void onRemoved(Job& job);
    void breakOff(const Status& status);
    Status storeSlices();
    Status startWaiting();
    Status start(Job& job);
    void watchDevices(const TuneJob& job);
    Status fail(Job& job, const std::string& why); // that has not begun to work
    void work(Job& job);
    Result<JobEnd> endOf(Job& job);
    Result<DeviceChoice> deviceOf(Job& job);
    Status finish(Job& job);
    void tellProgress(Job& job, const Progress& progress);
    bool waits(const Job& job) const;
    bool isOpen(const Job& job) const;
    std::size_t running() const;

    std::shared_ptr<Store> store_;
    const JobSessionId id_;
    const std::size_t atOnce_;
    const std::string storePath_;
    const bool queued_; // jobs that come later are its own, too
    const DeviceChoice remote_, offered_;
    StageBoard board_;
    JobWatch watch_;
    DeviceWatch devices_;
    std::size_t storedSlices_ = 0;
    std::optional<RunLegs> legs_; // as they were read last
    Work work_;
    StopSource broken_; // the store is
    mutable std::mutex mutex_; // guards what the threads of jobs change
    std::condition_variable changed_;
    Status failure_; // the first one of the store that a job's thread met
    std::map<JobId, StoredJobId> names_;
    std::map<StoredJobId, Job*> known_;
    std::vector<std::unique_ptr<Job>> jobs_; // last, so that their threads end first
};

} // namespace tunesmith
