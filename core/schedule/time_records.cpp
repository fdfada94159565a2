// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/time_records.h"

#include <algorithm>

#include "core/schedule/kernel_workers.h"
#include "core/schedule/records.h"

namespace tunesmith {
namespace {

constexpr int kRounds = 2;

struct Candidate {
    std::unique_ptr<ScheduleProblem> problem;
    std::optional<Artifact> artifact;
};

Result<Candidate> candidateOf(const Store& store, const Workload& workload, const Target& target, const std::string& machine, KernelExecutor& executor,
                              const StopToken& stop) {
    Candidate candidate;
    TS_ASSIGN(candidate.problem, ScheduleProblem::make(workload, target, executor));
    TS_ASSIGN(const auto known, bestConfig(store, workload.key, target, machine));
    if (known && candidate.problem->space().validate(known->config).ok())
        if (auto outcome = candidate.problem->tryBuild(known->config, stop); outcome.built)
            candidate.artifact = std::move(outcome.built->artifact);
    return candidate;
}

} // namespace

Result<std::vector<std::optional<double>>> timeRecords(const Store& store, const std::vector<Workload>& workloads, const Target& target,
                                                       const std::string& machine, const KernelWorkerOptions& options, const StopToken& stop) {
    TS_ASSIGN(const auto workers, KernelWorkers::start(options));
    std::vector<Candidate> candidates;
    for (const Workload& workload : workloads) {
        TS_ASSIGN(Candidate candidate, candidateOf(store, workload, target, machine, *workers, stop));
        candidates.push_back(std::move(candidate));
    }
    std::vector<std::optional<double>> times(workloads.size());
    const ProfileLimits limits{options.profileSeconds, {}, {}, stop};
    for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            if (stop.stopRequested())
                return cancelledError();
            if (!candidates[i].artifact)
                continue;
            if (const Trial trial = candidates[i].problem->profile(*candidates[i].artifact, limits); trial.ok())
                times[i] = std::min(times[i].value_or(trial.objectives.front().value), trial.objectives.front().value);
        }
    return times;
}

} // namespace tunesmith
