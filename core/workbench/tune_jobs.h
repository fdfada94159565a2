// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include "core/workbench/tune.h"

namespace tunesmith {

// Several models tuned at a time on this machine. A scheduler gives their stages turns: what is built or learned by one while another one is measured costs
// nothing, and what is measured has its cores to itself.

struct TuneJob {
    std::string name;  // empty: the model's
    std::string model; // file or sample
    Dimensions dimensions;
    TuneRequest tuning; // store, stop and listener are those of the jobs
    int priority = 0;   // the higher goes first
    double weight = 1;  // its share of what jobs of one priority compete for
};

struct TuneJobsRequest {
    std::vector<TuneJob> jobs;
    std::string policy = "predictive"; // of jobPolicies(), but "shared"
    std::string store;                 // empty: the default one
};

// A stage as it ran: "build", "profile" or "update". Seconds since all began.
struct JobSlice {
    std::size_t job = 0;
    std::string stage;
    std::vector<int> cores;
    double called = 0, begin = 0, end = 0;
    double expected = 0; // how long it was thought to take
};

struct TunedJob {
    std::string name;
    TuneReport report; // no runs if it failed before the first
    std::string error; // why it failed; empty if it did not
    double seconds = 0; // until it was done
};

struct TunedJobs {
    std::vector<TunedJob> jobs;
    std::vector<JobSlice> slices; // in the order of their ends
    double makespan = 0;
    double bound = 0;             // seconds: the cores cannot do these stages sooner, nor can the longest job
    std::map<std::string, double> utilisation; // of "core" and "profile"
};

// A stop is no error: jobs say "cancelled", and their runs can be resumed. What fails is the job's own trouble.
Result<TunedJobs> tuneJobs(const TuneJobsRequest& request, const Work& work = {});

// A file in TOML: [[job]] tables with model and, if need be, name, dims, threads, trials, total_trials, seconds, target_ms, strategy, seed, builders, batch, priority,
// weight;
// outside of them policy, and defaults for all jobs. Models are found relative to the file. Errors name file, line and key.
Result<TuneJobsRequest> readJobFile(const std::filesystem::path& file);

} // namespace tunesmith
