// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/workbench/tune_jobs.h"

namespace tunesmith {

// Every combination of listed values - models, thread counts, strategies, budgets, batches ... - as a job of its own, to be compared. The jobs are in the store: a sweep
// that was stopped or killed goes on where it stood, and one that is run again with more values adds theirs. Jobs of a model or of a problem's file that has changed
// since are others.
//
// What is compared is what each combination found by itself: nothing is transferred between them unless the file says so, and times are the sums of the
// kernels that its own run measured, each as often as it occurs in the model.

struct SweepCombination {
    TuneJob job;
    std::vector<std::string> values; // of the request's keys
};

struct SweepRequest {
    static constexpr std::size_t kMost = 10000;
    std::string name;
    std::vector<std::string> keys; // that list values, as they come in the file
    std::vector<SweepCombination> combinations;
    std::string policy = "predictive";
    std::string store; // empty: the default one
    int atOnce = 0;    // as of TuneJobsRequest; with a budget of seconds always 1, for they would share them
    DeviceChoice remote = {}; // as of TuneJobsRequest
};

struct SweepRow {
    std::int64_t job = 0;
    std::vector<std::string> values;
    std::string state; // as of QueuedJob
    int threads = 1;   // a row for each thread count that was tuned for
    std::int64_t trials = 0, failed = 0;
    double seconds = 0; // of the job
    std::optional<double> beforeMs, afterMs;
    std::string stopReason, error;
    std::optional<JobOutcome> outcome = {}; // of other kinds than tuning, which have no times above
};

struct SweepTable {
    std::vector<std::string> keys;
    std::vector<SweepRow> rows; // in the order of the combinations
};

// A file in TOML with the keys of a job, each with a value or a list of them, and name and policy. Errors name file, line and key.
Result<SweepRequest> readSweepFile(const std::filesystem::path& file);

struct SweepPlan {
    SweepRequest request;
    std::vector<std::int64_t> jobs; // of the combinations, in the store

    TuneJobsRequest run() const; // what has not ended well yet
};
// Finds the jobs that the store has from before and queues those again that failed or were cancelled; the others are added.
Result<SweepPlan> planSweep(const SweepRequest& request, const Work& work = {});
// How it stands now, whoever runs it: all of it, or the rows of some jobs.
Result<SweepTable> sweepTable(const SweepPlan& plan, const std::set<std::int64_t>& only = {}, const Work& work = {});
// Plans, runs and tells the outcome. A stop is no error: rows say "queued".
Result<SweepTable> runSweep(const SweepRequest& request, const Work& work = {});

std::string sweepAsCsv(const SweepTable& table);
Status exportSweep(const SweepTable& table, const std::filesystem::path& file);

} // namespace tunesmith
