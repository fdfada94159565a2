// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/tune_jobs.h"

namespace tunesmith {

class Store;
class ModelLooks;
struct JobRow;

// Jobs in the store, from whatever process: those that wait, run, and have ended. An empty path means the default store in the user's data folder.

struct QueuedJob {
    std::int64_t id = 0;
    std::string kind, name;
    std::string model; // or the problem's file
    std::string does;  // "rewrites the model net.onnx into small.onnx"; empty if that cannot be read
    std::string state; // "queued", "running", "paused", "interrupted" (its program is gone), "done", "failed", "cancelled"
    int priority = 0;
    double progress = 0; // 0 to 1
    double seconds = 0;  // that it has worked: without those in which it was paused, or waited for turns or devices while none of its stages ran
    TuneBudget budget;   // that it began with
    std::optional<std::int64_t> run; // of its first thread count
    std::string detail;  // why it failed
    std::optional<JobOutcome> outcome; // of what is done and tuned no kernels
};
Result<std::vector<QueuedJob>> listJobs(const std::string& store); // in the order in which they came

// Checks that each can begin (its model opens), and gives jobs without a name the model's; then all of them are stored, or none.
Result<std::vector<std::int64_t>> addJobs(Store& store, std::vector<TuneJob>& jobs, const Work& work = {});
Result<std::vector<std::int64_t>> addJobs(const std::string& store, std::vector<TuneJob> jobs, const Work& work = {});

// Inside core/workbench: what a row of the store says; and adding jobs after looking at their models.
QueuedJob queuedJob(const JobRow& row);
std::string doneBy(const TuneJob& job); // QueuedJob::does
Result<std::vector<std::int64_t>> addJobs(Store& store, std::vector<TuneJob>& jobs, ModelLooks& models, const Work& work);

// Whoever runs the job follows within a second. Paused jobs end the stage that they are in. Resuming queues jobs again that failed or were cancelled; they go on
// where they stood.
enum class JobChange { pause, resume, cancel, remove };
Status changeJob(const std::string& store, std::int64_t job, JobChange change);
Status setJobPriority(const std::string& store, std::int64_t job, int priority);

} // namespace tunesmith
