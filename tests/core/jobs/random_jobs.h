// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/rng.h"
#include "core/jobs/simulation.h"

namespace tunesmith {

struct RandomJobs {
    std::vector<Resource> resources;
    std::vector<SimulatedJob> jobs;
};

// Anything that a scheduler may be given: stages of no length, of several resources, alone or not, jobs that come later or have no stages.
inline RandomJobs randomJobs(std::uint64_t seed) {
    Rng rng(seed);
    const auto between = [&](int low, int high) { return low + static_cast<int>(rng.below(static_cast<std::uint64_t>(high - low + 1))); };
    RandomJobs made;
    for (int i = between(1, 3); i > 0; --i)
        made.resources.push_back({"r" + std::to_string(i), rng.chance(0.1) ? 1000 : between(1, 4)});
    for (int i = between(1, 4); i > 0; --i) {
        SimulatedJob job;
        job.traits = {"j" + std::to_string(i), between(0, 1), 1.0 + between(0, 2), {}};
        if (rng.chance(0.2))
            job.traits.deadline = between(0, 40);
        job.arrival = rng.chance(0.3) ? between(0, 10) : 0;
        job.known = rng.chance(0.5) ? static_cast<std::size_t>(between(1, 4)) : 0;
        for (int s = 0, count = between(0, 8); s < count; ++s) {
            SimulatedStage stage;
            stage.kind = std::string(1, static_cast<char>('a' + between(0, 2)));
            stage.seconds = rng.chance(0.1) ? 0 : 0.25 * between(1, 30);
            for (const Resource& resource : made.resources)
                if (rng.chance(0.6))
                    stage.uses.push_back({resource.name, between(1, resource.amount), rng.chance(0.2)});
            for (int before = 0; before < s; ++before)
                if (rng.chance(0.25))
                    stage.after.push_back(static_cast<std::size_t>(before));
            job.stages.push_back(std::move(stage));
        }
        made.jobs.push_back(std::move(job));
    }
    return made;
}

} // namespace tunesmith
