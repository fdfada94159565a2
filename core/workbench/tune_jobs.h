// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include "core/workbench/job_timeline.h"
#include "core/workbench/optimize.h"
#include "core/workbench/tune_problem.h"

namespace tunesmith {

// Several models tuned or rewritten, and problems tuned, at a time, on this machine and on devices that trackers lend. A scheduler gives their stages turns: what is built or learned by one while another one is measured costs
// nothing, and what is measured has its cores to itself. Jobs are kept in the store (job_queue.h): what a program that was stopped or killed leaves undone, the
// next one goes on with. A budget of seconds is of those in which a job works: it stands while the job is paused, or waits for its turn or a device and none of its stages runs.

struct TuneJob {
    std::string kind = "tune"; // of jobKinds()
    std::string name;  // empty: the model's, or the problem's
    std::string model; // file or sample
    Dimensions dimensions;
    TuneRequest tuning; // store, stop and listener are those of the jobs
    int priority = 0;   // the higher goes first
    double weight = 1;  // its share of what jobs of one priority compete for: "fair" gives it, "predictive" counts waiting by it
    std::optional<double> deadline = {}; // seconds from the start of the session that runs it, by when it should be done: "predictive" lets late jobs go first
    int cores = 0;      // quota: so many at a time; 0: all that there are
    int memoryMb = 0;   // likewise, MiB; a stage that needs more runs alone
    int networkMbit = 0; // likewise, Mbit/s that its devices load this machine's network with
    OptimizeRequest rewriting;  // of kind "rewrite": of the model; store, gate and end are those of the jobs
    TuneProblemRequest problem; // of kind "problem": without model; likewise
    std::string content; // a hash of its model, or of its problem's file, where that tells jobs apart (sweep.h)
    DeviceChoice device = {}; // on which its kernels are built and measured, with the job's priority; without a key: this machine
};

// What a job came to that tunes no kernels: what its model cost, or its problem came to, before and after.
struct JobOutcome {
    std::string unit = {};                         // of both: "ms", "kernels", "points"
    std::optional<double> before = {}, after = {}; // by the search's cost; of the default and of the best config
    std::optional<double> measuredBeforeMs = {}, measuredAfterMs = {}; // of models, where they were timed as modules
    std::string file = {};   // that was written
    std::string remark = {}; // "the best is 20 to 25 % faster"

    bool any() const { return before || after || !file.empty() || !remark.empty(); }
};

// How a job stands.
struct JobStanding {
    std::size_t job = 0; // its place among those of the session
    std::int64_t id = 0; // in the store
    std::string name = {};
    std::string does = {}; // as in QueuedJob
    int priority = 0;
    TuneBudget budget = {};
    double fraction = 0; // of it, 0 to 1
    std::int64_t trials = 0; // in all sessions
    std::optional<double> bestMs = {}; // of the model's kernels together, once each of them was measured
    bool running = false, paused = false, ended = false, cancelled = false; // none of them: it waits in the store; cancelled: or removed
    std::string error = {}; // why it failed; empty if it did not
    JobOutcome outcome = {}; // of one that is done
};

// Watches the jobs. Never called by two threads at once, but from different threads: be quick, queue what is slow.
class TuneJobsListener {
public:
    virtual ~TuneJobsListener() = default;
    virtual void onSession(std::int64_t, const std::map<std::string, int>&) {} // its number in the store and how many units of each resource there are; first of all
    virtual void onSlice(const JobSlice&) {}                // in the order of their ends
    virtual void onRunning(const std::vector<JobSlice>&) {} // all stages that run from now on; they have no end yet
    virtual void onWaiting(const std::vector<JobWait>&) {}  // all stages that wait for their turn from now on
    virtual void onJob(const JobStanding&) {}               // of each job once before any begins
};

struct TuneJobsRequest {
    std::vector<TuneJob> jobs; // added to the store, and run
    bool queued = false;       // run what waits in the store, too, and what comes there or is resumed meanwhile
    std::vector<std::int64_t> stored; // or these of it
    std::string policy = "predictive"; // of jobPolicies(), but "shared"
    std::string store;                 // empty: the default one
    int atOnce = 0; // so many jobs run on this machine, and on the devices of each key; the others wait. 0: two more than there are cores
    DeviceChoice remote = {}; // the tracker, and the files of tokens and certificates, instead of what jobs say; a token without a tracker is for no job that names one
    DeviceChoice offered = {}; // likewise, but only for jobs that name no tracker, or this one
    TuneJobsListener* listener = nullptr;
};

struct TunedJob {
    std::int64_t id = 0; // in the store
    std::string kind, name;
    std::string state;  // "done", "failed", "cancelled"; "removed", while it waited; "queued": the next one to run jobs goes on with it; "paused": somebody must resume it first
    TuneReport report;  // of kernels: no runs if it did not come to any
    JobOutcome outcome; // of the other kinds
    std::string error;  // why it failed; empty if it did not
    double seconds = 0; // until it ended, since all began
};

struct TunedJobs {
    std::vector<TunedJob> jobs;
    JobTimeline timeline; // its jobs are those above
    double bound = 0;     // seconds: the cores cannot do these stages sooner, nor can the longest job
    std::map<std::string, double> utilisation; // of "core", "profile", "memory", "network" and "device KEY", of what was used
};

// A stop is no error: jobs say "queued". What fails is the job's own trouble.
Result<TunedJobs> tuneJobs(const TuneJobsRequest& request, const Work& work = {});

// A file in TOML: [[job]] tables with kind, name, priority, weight, deadline, cores, memory, network, and what each kind knows besides; outside of them policy, and defaults for all jobs
// whose kind knows them. A problem's own file is one job. Files are found relative to this one; `token_file` and `output` lie in its folder, the one is called token or ends in .token, the other in .onnx. Errors name file, line and key.
//   tune:    model, dims, threads, trials, total_trials, seconds, target_ms, strategy, space, seed, builders, batch, timeout, transfer, layouts, device, devices, tracker, token_file, ca, insecure
//   rewrite: model, dims, search, cost, alpha, budget, seconds, seed, rules, threads, builders, measure, output
//   problem: file, trials, seconds, strategy, seed, builders, batch, timeout
Result<TuneJobsRequest> readJobFile(const std::filesystem::path& file);

} // namespace tunesmith
