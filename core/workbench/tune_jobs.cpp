// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/tune_jobs.h"

#include <algorithm>

#include "core/jobs/scheduling_policy.h"
#include "core/jobs/simulation.h"
#include "core/workbench/job_queue.h"
#include "core/workbench/job_session.h"
#include "core/workbench/job_spec.h"
#include "core/workbench/job_watch.h"
#include "core/workbench/open_store.h"

namespace tunesmith {
namespace {

// What several stages of a lane load counts once.
std::vector<ResourceUse> loadOf(const TimedStage& stage) { return stage.shares ? std::vector<ResourceUse>() : stage.uses; }

// What the same jobs would be to a simulation: a stage comes after the last one of its job that had ended when it was called for.
class RecordedJobs {
public:
    explicit RecordedJobs(std::size_t jobs) : jobs_(jobs), ends_(jobs) {}

    void add(const TimedStage& stage) { // in the order of their ends
        SimulatedJob& job = jobs_[stage.job.index()];
        std::vector<double>& ends = ends_[stage.job.index()];
        SimulatedStage one{stage.kind, loadOf(stage), {}, stage.end - stage.begin};
        const auto before = std::ranges::upper_bound(ends, stage.called) - ends.begin();
        if (before > 0)
            one.after = {static_cast<std::size_t>(before) - 1};
        job.stages.push_back(std::move(one));
        ends.push_back(stage.end);
    }
    const std::vector<SimulatedJob>& all() const { return jobs_; }

private:
    std::vector<SimulatedJob> jobs_;
    std::vector<std::vector<double>> ends_;
};

void addFigures(const std::vector<TimedStage>& stages, const std::vector<Resource>& resources, TunedJobs& tuned) {
    JobTimeline& timeline = tuned.timeline;
    for (const TunedJob& job : tuned.jobs)
        timeline.jobs.push_back(job.name);
    std::map<std::string, double> loads;
    std::map<std::string, int> amounts;
    for (const Resource& resource : resources) {
        amounts[resource.name] = resource.amount;
        if (!resource.estimated) // what has units
            timeline.resources[resource.name] = resource.amount;
    }
    RecordedJobs jobs(tuned.jobs.size());
    for (const TimedStage& stage : stages) {
        jobs.add(stage);
        timeline.slices.push_back(sliceOf(stage));
        for (const ResourceUse& use : loadOf(stage))
            loads[use.resource] += (stage.end - stage.begin) * (use.exclusive ? 1.0 : static_cast<double>(use.amount) / std::max(1, amounts.at(use.resource)));
    }
    tuned.bound = lowerBound(resources, jobs.all());
    for (const auto& [resource, seconds] : loads)
        tuned.utilisation[resource] = timeline.makespan() > 0 ? seconds / timeline.makespan() : 0;
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
        TS_TRY(session->add(std::move(job)));
    TS_TRY(session->run(work));
    TunedJobs tuned;
    tuned.jobs = session->results();
    addFigures(session->board().timeline(), session->board().resources(), tuned);
    return tuned;
}

} // namespace tunesmith
