// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_simulation.h"

#include <cmath>

#include "core/base/rng.h"
#include "core/jobs/scheduling_policy.h"
#include "core/jobs/simulation.h"

namespace tunesmith {
namespace {

constexpr double kMostStages = 3e6; // a minute of simulating

Status check(const JobSimulationRequest& request) {
    for (const auto& [name, seconds] : {std::pair("build", request.build), {"profile", request.profile}, {"update", request.update}})
        if (!std::isfinite(seconds) || seconds < 0)
            return inputError(std::string(name) + " takes " + std::to_string(seconds) + " s: give a time of 0 s or more");
    for (const auto& [name, count] : {std::pair("jobs", std::int64_t(request.jobs)), {"devices", request.devices}, {"batches", request.batches}, {"batches in flight", request.inFlight}})
        if (count < 1)
            return inputError("there are " + std::to_string(count) + " " + name + ": give 1 or more");
    if (request.outOf < 1 || request.updates < 0 || request.updates > request.outOf)
        return inputError("updates after " + std::to_string(request.updates) + " of " + std::to_string(request.outOf) + " batches: give a share from 0/1 to 1/1");
    if (!(request.spread >= 0 && request.spread < 1))
        return inputError("stage times spread by " + std::to_string(request.spread) + ": give a share from 0 to less than 1");
    if (3.0 * request.jobs * static_cast<double>(request.batches) > kMostStages)
        return inputError("that is more than three million stages: give fewer jobs or batches");
    return {};
}

void spreadTimes(std::vector<SimulatedStage>& stages, double spread, Rng& rng) {
    for (SimulatedStage& stage : stages)
        stage.seconds *= 1 + spread * static_cast<double>(rng.uniform(-1.0F, 1.0F));
}

} // namespace

std::vector<JobPolicy> jobPolicies() {
    std::vector<JobPolicy> all;
    for (const PolicyInfo& info : schedulingPolicies())
        all.push_back({info.name, info.description});
    return all;
}

Result<JobSimulation> simulateJobs(const JobSimulationRequest& request, const Work& work) {
    TS_TRY(check(request));
    Rng rng(request.seed);
    std::vector<SimulatedJob> jobs;
    for (int i = 0; i < request.jobs; ++i) {
        jobs.push_back(simulatedJob({"job " + std::to_string(i + 1), static_cast<std::size_t>(request.batches), request.build, request.profile, request.update, request.updates,
                                     request.outOf, static_cast<std::size_t>(request.inFlight)}));
        spreadTimes(jobs.back().stages, request.spread, rng);
    }
    work.report("simulating " + request.policy);
    TS_ASSIGN(Simulation made, simulate(batchResources(request.devices), jobs, request.policy, work.stop));
    return JobSimulation{request.policy, made.makespan, made.bound, made.waiting, made.disturbed, made.fairness, std::move(made.utilisation)};
}

} // namespace tunesmith
