// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_queue.h"

#include <algorithm>

#include "core/base/printable.h"
#include "core/store/store.h"
#include "core/workbench/job_kind.h"
#include "core/workbench/job_spec.h"
#include "core/workbench/open_store.h"

namespace tunesmith {
namespace {

std::string stateOf(const JobRow& row) {
    const bool paused = row.wish == JobWish::pause;
    switch (row.state) {
    case JobState::queued:
        return paused ? "paused" : "queued";
    case JobState::running:
        return paused ? "paused" : row.interrupted ? "interrupted" : "running";
    case JobState::done:
        return "done";
    case JobState::failed:
        return "failed";
    case JobState::cancelled:
        return "cancelled";
    }
    return "";
}

// No name is so long that another one is cut off.
std::string said(const std::string& name) {
    constexpr std::size_t kMost = 200;
    return shortened(name, kMost);
}

std::string onWhat(const DeviceChoice& device) {
    if (device.key.empty())
        return {};
    std::string text = " on devices of the key " + said(device.key);
    const auto add = [&](const char* words, const std::string& value) { text += value.empty() ? "" : words + said(value); };
    add(" of the tracker ", device.tracker);
    add(", which gets the token in ", device.files.token);
    add(", trusting ", device.files.ca);
    return text + (device.files.insecure ? ", without TLS or token if need be" : "");
}

} // namespace

std::string doneBy(const TuneJob& job) {
    if (!job.problem.file.empty())
        return "tunes the problem " + said(job.problem.file.string()) + ", whose commands it runs";
    const std::string output = job.rewriting.file.string();
    return job.kind + "s the model " + said(job.model) + (output.empty() ? "" : " into " + said(output)) + onWhat(job.device);
}

QueuedJob queuedJob(const JobRow& row) {
    QueuedJob job;
    job.id = row.id.value();
    job.kind = row.kind;
    job.name = row.name;
    job.state = stateOf(row);
    job.priority = row.priority;
    job.progress = row.progress;
    job.seconds = row.seconds;
    if (row.state == JobState::done && !row.detail.empty())
        job.outcome = readOutcomeSpec(row.detail);
    else
        job.detail = row.detail;
    if (row.run.valid())
        job.run = row.run.value();
    if (const auto spec = readJobSpec(row.kind, row.what); spec.ok()) {
        job.model = spec->model.empty() ? spec->problem.file.string() : spec->model;
        job.does = doneBy(*spec);
        job.budget = jobKind(row.kind).value()->budget(*spec);
    } else {
        job.detail = spec.error().message;
    }
    return job;
}

Result<std::vector<QueuedJob>> listJobs(const std::string& store) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<JobRow> rows, opened->jobs());
    std::vector<QueuedJob> jobs;
    std::ranges::transform(rows, std::back_inserter(jobs), queuedJob);
    return jobs;
}

Result<std::vector<std::int64_t>> addJobs(Store& store, std::vector<TuneJob>& jobs, const Work& work) {
    ModelLooks models;
    return addJobs(store, jobs, models, work);
}

Result<std::vector<std::int64_t>> addJobs(Store& store, std::vector<TuneJob>& jobs, ModelLooks& models, const Work& work) {
    std::vector<JobRow> rows;
    for (TuneJob& job : jobs) {
        TS_ASSIGN(const JobKind* const kind, jobKind(job.kind));
        TS_ASSIGN(const std::string name, kind->check(job, models, work));
        if (job.name.empty())
            job.name = name;
        JobRow row;
        row.kind = job.kind;
        row.name = job.name;
        TS_ASSIGN(row.what, jobSpec(job));
        row.priority = job.priority;
        rows.push_back(std::move(row));
    }
    TS_ASSIGN(const std::vector<StoredJobId> stored, store.addJobs(rows));
    std::vector<std::int64_t> ids;
    std::ranges::transform(stored, std::back_inserter(ids), &StoredJobId::value);
    return ids;
}

Result<std::vector<std::int64_t>> addJobs(const std::string& store, std::vector<TuneJob> jobs, const Work& work) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readWrite));
    return addJobs(*opened, jobs, work);
}

Status changeJob(const std::string& store, std::int64_t job, JobChange change) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readWrite));
    const StoredJobId id(job);
    switch (change) {
    case JobChange::pause:
        return opened->wishJob(id, JobWish::pause);
    case JobChange::resume:
        return opened->wishJob(id, JobWish::run);
    case JobChange::cancel:
        return opened->wishJob(id, JobWish::cancel);
    case JobChange::remove:
        return opened->removeJob(id);
    }
    return {};
}

Status setJobPriority(const std::string& store, std::int64_t job, int priority) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readWrite));
    return opened->setJobPriority(StoredJobId(job), priority);
}

} // namespace tunesmith
