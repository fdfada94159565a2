// SPDX-License-Identifier: GPL-3.0-or-later
// The part of job_simulation.h about sessions of the store.
#include <algorithm>
#include <cmath>

#include "core/store/store.h"
#include "core/workbench/job_gate.h"
#include "core/workbench/job_sessions.h"
#include "core/workbench/job_simulation.h"
#include "core/workbench/job_spec.h"
#include "core/workbench/open_store.h"
#include "core/workbench/recorded_jobs.h"

namespace tunesmith {
namespace {

constexpr std::size_t kMostRecorded = 3'000'000; // stages; as of those that are made up

struct ReadSession {
    JobSessionSummary summary;
    JobTimeline timeline;
    std::vector<JobTraits> traits;
};

Result<JobTraits> traitsOf(const QueuedJob& job, const Store& store) {
    TS_ASSIGN(const JobRow row, store.job(StoredJobId(job.id)));
    const auto spec = readJobSpec(row.kind, row.what);
    if (!spec.ok())
        return spec.error().within("job " + std::to_string(job.id));
    JobTraits traits{job.name, job.priority, spec->weight};
    if (spec->cores > 0)
        traits.most[kCoreResource] = spec->cores;
    return traits;
}

Result<ReadSession> readSession(const SessionSimulationRequest& request, const StopToken& stop) {
    const std::string name = "session " + std::to_string(request.session);
    TS_ASSIGN(const auto reader, SessionReader::open(request.store, request.session));
    ReadSession read;
    std::vector<SessionJob> jobs;
    for (bool more = true; more;) {
        TS_ASSIGN(SessionPart part, reader->next(stop));
        if (part.session.running)
            return inputError(name + " still runs: simulate it once it has ended");
        std::ranges::move(part.slices, std::back_inserter(read.timeline.slices));
        if (read.timeline.slices.size() > kMostRecorded)
            return inputError(name + " has more than three million stages, which is too much to simulate");
        read.summary = part.session;
        jobs = std::move(part.jobs);
        more = part.more;
    }
    if (read.timeline.slices.empty())
        return inputError(name + " ran no stage, so there is nothing to simulate; `jobs sessions` says how many each ran");
    read.timeline.resources = reader->resources();
    TS_ASSIGN(const auto store, openStore(request.store, StoreMode::readOnly));
    for (const SessionJob& job : jobs) {
        read.timeline.jobs.push_back(job.job.name);
        TS_ASSIGN(JobTraits traits, traitsOf(job.job, *store));
        read.traits.push_back(std::move(traits));
    }
    return read;
}

// What keeps a stage from being simulated; empty: nothing.
std::string faultOf(const JobSlice& slice, const std::map<std::string, int>& resources) {
    if (!std::isfinite(slice.called) || !std::isfinite(slice.end) || !(slice.called <= slice.begin && slice.begin <= slice.end))
        return "has times that are none";
    if (slice.cores().empty() && std::ranges::none_of(slice.units, [](const auto& each) { return isDeviceResource(each.first) && !each.second.empty(); }))
        return "does not say which cores or devices it loaded";
    for (const auto& [resource, units] : slice.units) {
        const auto known = resources.find(resource);
        if (known == resources.end())
            return "loaded '" + resource + "', of which the session had none";
        std::vector<int> sorted = units;
        std::ranges::sort(sorted);
        if (std::ranges::adjacent_find(sorted) != sorted.end() || (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= known->second)))
            return "loaded units of '" + resource + "' that there are not";
    }
    return {};
}

Status checkSlices(const ReadSession& read) {
    for (const JobSlice& slice : read.timeline.slices)
        if (const std::string fault = faultOf(slice, read.timeline.resources); !fault.empty())
            return inputError("session " + std::to_string(read.summary.id) + " cannot be simulated: a stage '" + slice.stage + "' of its job '" + read.timeline.jobs[slice.job] + "' " + fault +
                              "; `store check` looks for damage");
    return {};
}

// Those that the stages may load, with as many devices as are asked for.
Result<std::vector<Resource>> resourcesAsked(const ReadSession& read, const std::optional<int>& devices) {
    std::vector<Resource> resources;
    bool any = false;
    for (const auto& [name, amount] : read.timeline.resources) {
        const bool device = isDeviceResource(name);
        any |= device;
        if (amount > 0)
            resources.push_back({name, device ? devices.value_or(amount) : amount});
    }
    if (devices && *devices < 1)
        return inputError("there are " + std::to_string(*devices) + " devices: give 1 or more");
    if (devices && !any)
        return inputError("session " + std::to_string(read.summary.id) + " had no devices of other machines, so there cannot be more or fewer of them");
    return resources;
}

RecordedSession recordedSession(const ReadSession& read, const std::vector<SimulatedJob>& jobs) {
    const JobTimeline& timeline = read.timeline;
    RecordedSession was{read.summary.id, read.summary.policy, !read.summary.endedAt, timeline.jobs.size(), timeline.slices.size(), timeline.makespan(), 0, {}};
    std::vector<Resource> resources;
    for (const auto& [name, amount] : timeline.resources)
        resources.push_back({name, amount});
    for (const JobSlice& slice : timeline.slices)
        was.waiting += slice.begin - slice.called;
    was.utilisation = recordedUtilisation(jobs, resources, was.makespan);
    return was;
}

} // namespace

Result<SessionSimulation> simulateSession(const SessionSimulationRequest& request, const Work& work) {
    work.report("reading session " + std::to_string(request.session));
    TS_ASSIGN(const ReadSession read, readSession(request, work.stop));
    TS_TRY(checkSlices(read));
    TS_ASSIGN(const std::vector<Resource> resources, resourcesAsked(read, request.devices));
    std::vector<RecordedStage> stages;
    std::ranges::transform(read.timeline.slices, std::back_inserter(stages), [](const JobSlice& slice) { return recordedStage(slice); });
    std::vector<SimulatedJob> jobs = recordedJobs(std::move(stages), read.traits.size());
    for (std::size_t i = 0; i < jobs.size(); ++i)
        jobs[i].traits = read.traits[i];
    SessionSimulation simulated{recordedSession(read, jobs), {}};
    for (const std::string& policy : request.policies) {
        work.report("simulating " + policy);
        TS_ASSIGN(Simulation made, simulate(resources, jobs, policy, work.stop));
        simulated.made.push_back({policy, made.makespan, made.bound, made.waiting, made.disturbed, made.fairness, std::move(made.utilisation)});
    }
    return simulated;
}

} // namespace tunesmith
