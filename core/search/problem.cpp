// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/problem.h"

#include <chrono>

namespace tunesmith {

Trial tryConfig(Problem& problem, const Config& config, const ProfileLimits& limits) {
    if (limits.stop.stopRequested())
        return Trial::failure(config, TrialStatus::cancelled, "cancelled");
    const auto start = std::chrono::steady_clock::now();
    Result<Built> built = problem.build(config, limits.stop);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    Trial trial;
    if (built.ok()) {
        trial = problem.profile(built->artifact, limits);
        trial.asked = config;
        trial.effective = built->effective;
        trial.artifactHash = built->artifact.hash;
    } else {
        trial = Trial::failure(config, statusOf(built.error(), false), built.error().message);
    }
    trial.buildSeconds = seconds;
    return trial;
}

double costOf(const Trial& trial, std::span<const ObjectiveInfo> objectives, std::size_t index) {
    assert(trial.ok() && index < trial.objectives.size() && index < objectives.size());
    const double value = trial.objectives[index].value;
    return objectives[index].higherIsBetter ? -value : value;
}

} // namespace tunesmith
