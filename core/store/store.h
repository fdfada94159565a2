// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/store/rows.h"

namespace tunesmith {

enum class StoreMode { readWrite, readOnly };

struct StoreOptions {
    int busyTimeoutMs = 5000;  // how long a write waits for another process
    std::int64_t maxPages = 0; // upper limit of the file in pages of 4 kB; 0: none
    bool toCheck = false;      // of a reader: what is damaged is for check() to tell, not for open()
};

// The trial database: everything that was measured, in one SQLite file that survives kill -9 (FORMAT.md has
// the argument).
//
// Threads: every function may be called from any thread. Writes are queued to one writer thread that owns the
// only writing connection; the call returns after the commit, so that what was reported is durable. Reads use
// connections of their own, run beside the writer and beside other processes, and see committed states only.
// Errors: one sentence with the file and the remedy. A failed write leaves the store as it was, readable and
// open.
class Store {
public:
    static Result<std::shared_ptr<Store>> open(const std::string& path, StoreMode mode = StoreMode::readWrite,
                                               const StoreOptions& options = {});
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    const std::string& path() const;
    StoreMode mode() const;

    // Things that runs refer to. Adding one that is there already (same key) returns the same id; a machine's
    // measured ceilings (unless it comes without any) and a model's name are renewed.
    Result<MachineId> addMachine(const MachineRow& machine);
    Result<TargetId> addTarget(const TargetRow& target);
    Result<ModelId> addModel(const ModelRow& model);
    Status addWorkload(const WorkloadRow& workload);

    // The life of a run. beginRun stores it as RUNNING with this process as its owner, together with its
    // workloads (which must have been added). resumeRun takes over a run that stopped or whose process is
    // gone, and makes it RUNNING again; not one that another store of this process works on.
    Result<RunId> beginRun(const RunRow& run, const std::vector<RunWorkloadRow>& workloads = {});
    Status addRunWorkloads(RunId run, const std::vector<RunWorkloadRow>& workloads);
    Status resumeRun(RunId run);
    Status setRunLatency(RunId run, std::optional<double> beforeMs,
                         std::optional<double> afterMs); // none keeps
    Status endRun(RunId run, const RunEnd& end);
    Status removeRun(RunId run); // with its trials; records fall back to the best of the remaining trials

    // One trial is one commit. With a state, the state is part of the same commit: use it for the trial that
    // closes a batch.
    Result<TrialId> addTrial(const TrialRow& trial, const RunStateRow* state = nullptr);
    // Many that are known already, e.g. from another program's log: all of them in one commit, or none.
    Status addTrials(const std::vector<TrialRow>& trials);
    // What a comparison after the end of a run came to: one more final trial, the last of its workload.
    Result<TrialId> addVerdict(const TrialRow& trial);
    Status saveRunState(const RunStateRow& state);

    Result<std::vector<MachineRow>> machines() const;
    Result<std::vector<TargetRow>> targets() const;
    Result<std::vector<ModelRow>> models() const;
    Result<std::optional<WorkloadRow>> workload(const std::string& key) const;
    Result<std::vector<RunRow>> runs() const; // newest first
    Result<RunRow> run(RunId run) const;
    Result<std::vector<RunWorkloadSummary>>
    runWorkloads(RunId run) const; // in the order in which they were given
    Result<std::optional<RunStateRow>> runState(RunId run, const std::string& workload) const;

    Result<std::vector<TrialRow>> trials(const TrialFilter& filter) const;
    Result<TrialRow> trial(TrialId trial) const;
    Result<std::vector<CurvePoint>> curve(RunId run, const std::string& workload) const; // by index

    // The best ok trial of a workload. Without a machine: of all machines that have this target.
    Result<std::optional<Record>> bestRecord(const std::string& workload, const std::string& target,
                                             const std::string& machine = {}) const;
    Result<std::vector<Record>> bestRecords(const std::string& target, const std::string& machine = {}) const;

    // All of them in one commit, or none. A rule whose text is there already is renewed and keeps its place; a name that another rule
    // has is an error.
    Status addRules(const std::vector<RuleRow>& rules);
    Result<std::vector<RuleRow>> rules() const; // in the order in which they came
    Result<std::optional<RuleRow>> rule(const std::string& name) const;

    // Jobs. Any process may add jobs, change their priority and say what it wants of them; who takes one owns it until it ends it or gives it back.
    Result<std::vector<StoredJobId>> addJobs(const std::vector<JobRow>& jobs); // all of them in one commit, or none
    Result<std::vector<JobRow>> jobs() const;                                  // in the order in which they came
    Result<JobRow> job(StoredJobId job) const;
    // Gives the row that its seal covers (job_seal.h), as it is to run. None: it was removed or has ended, somebody who lives has it, or it is not meant to run.
    Result<std::optional<JobRow>> takeJob(StoredJobId job);
    Status saveJob(StoredJobId job, const JobProgress& progress); // own jobs
    Status endJob(StoredJobId job, JobState state, const std::string& detail = {}); // own jobs; queued gives it back
    Status wishJob(StoredJobId job, JobWish wish); // of a job that nobody runs, cancel ends it; run queues one again that failed or was cancelled
    Status setJobPriority(StoredJobId job, int priority);
    Status removeJob(StoredJobId job); // with its slices; its runs stay

    Result<JobSessionId> beginJobSession(const JobSessionRow& session);
    Status endJobSession(JobSessionId session);
    Status addJobSlices(JobSessionId session, const std::vector<JobSliceRow>& slices); // one commit; those of jobs that were removed are dropped
    Result<std::vector<JobSessionRow>> jobSessions() const; // newest first
    Result<JobSessionRow> jobSession(JobSessionId session) const;           // without what it ran
    // In the order of storing; those after a slice, at most so many (negative: all).
    Result<std::vector<JobSliceRow>> jobSlices(JobSessionId session, std::int64_t after = 0, std::int64_t most = -1) const;

    Result<StoreCheck>
    check() const; // one consistent snapshot; damage is a problem in the list, not an error
    Result<StoreStats> stats() const;
    Result<StoreGc> gc(); // drops what no run refers to, returns free space to the disk

private:
    struct Impl;
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

// $XDG_DATA_HOME/tunesmith/tunesmith.db, else ~/.local/share/tunesmith/tunesmith.db. Creates the folder.
Result<std::string> defaultStorePath();

} // namespace tunesmith
