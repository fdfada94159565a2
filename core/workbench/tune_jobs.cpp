// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tune_jobs.h"

#include <algorithm>

#include "core/jobs/scheduling_policy.h"
#include "core/workbench/job_queue.h"
#include "core/workbench/job_session.h"
#include "core/workbench/job_spec.h"
#include "core/workbench/job_watch.h"
#include "core/workbench/open_store.h"
#include "core/workbench/recorded_jobs.h"

namespace tunesmith {
namespace {

void addFigures(const std::vector<TimedStage>& stages, const std::vector<Resource>& resources, TunedJobs& tuned) {
    JobTimeline& timeline = tuned.timeline;
    for (const TunedJob& job : tuned.jobs)
        timeline.jobs.push_back(job.name);
    for (const Resource& resource : resources)
        if (!resource.estimated) // what has units
            timeline.resources[resource.name] = resource.amount;
    std::vector<RecordedStage> recorded;
    for (const TimedStage& stage : stages) {
        recorded.push_back(recordedStage(stage));
        timeline.slices.push_back(sliceOf(stage));
    }
    const std::vector<SimulatedJob> jobs = recordedJobs(std::move(recorded), tuned.jobs.size());
    tuned.bound = lowerBound(resources, jobs);
    tuned.utilisation = recordedUtilisation(jobs, resources, timeline.makespan());
}

// Jobs that are new, then those that wait in the store.
Result<std::vector<StoredJob>> gather(const TuneJobsRequest& request, Store& store, const Work& work) {
    TS_ASSIGN(const std::vector<JobRow> before, store.jobs());
    std::vector<TuneJob> added = request.jobs;
    TS_ASSIGN(const std::vector<std::int64_t> ids, addJobs(store, added, work));
    std::vector<StoredJob> gathered;
    for (std::size_t i = 0; i < added.size(); ++i) {
        TS_ASSIGN(JobRow row, store.job(StoredJobId(ids[i])));
        gathered.push_back({std::move(row), std::move(added[i])});
    }
    for (const JobRow& row : before)
        if (canBeTaken(row) && (request.queued || std::ranges::find(request.stored, row.id.value()) != request.stored.end()))
            gathered.push_back({row, readJobRow(row)});
    return gathered;
}

} // namespace

Result<TunedJobs> tuneJobs(const TuneJobsRequest& request, const Work& work) {
    if (request.jobs.empty() && !request.queued && request.stored.empty())
        return inputError("there is no job to run: give at least one model");
    TS_ASSIGN(const auto policy, makePolicy(request.policy));
    if (!policy->controlsLoad())
        return inputError("policy '" + request.policy + "' disturbs every measurement: it is there for simulations only");
    TS_ASSIGN(const std::shared_ptr<Store> store, openStore(request.store, StoreMode::readWrite));
    TS_ASSIGN(std::vector<StoredJob> jobs, gather(request, *store, work));
    if (jobs.empty())
        return TunedJobs();
    TS_ASSIGN(const auto session, JobSession::begin(store, request));
    for (StoredJob& job : jobs)
        if (!work.stop.stopRequested()) // a store may have any number
            TS_TRY(session->add(std::move(job)));
    TS_TRY(session->run(work));
    TunedJobs tuned;
    tuned.jobs = session->results();
    addFigures(session->board().timeline(), session->board().resources(), tuned);
    return tuned;
}

} // namespace tunesmith
