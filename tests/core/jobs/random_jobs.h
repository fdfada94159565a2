// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/rng.h"
#include "core/jobs/simulation.h"
#include "tests/core/jobs/observed_jobs.h"

namespace tunesmith {

struct RandomJobs {
    struct More { // of a stage that no simulation knows
        int lane = -1;
        double calledAfter = 0; // seconds; 0: it need not be called for
    };
    std::vector<Resource> resources;
    std::vector<SimulatedJob> jobs;
    std::vector<std::vector<More>> more; // by job and stage
    std::vector<double> gaps; // by job: seconds after a stage until it adds another one; it may have nothing on the scheduler meanwhile
    std::vector<Observed::Event> changes; // of amounts, priorities and pauses, in their order
};

// Anything that a scheduler may be given: stages of no length, of several resources, alone or not, jobs that come later, have no stages, or may not have all of something.
class RandomJobsMaker {
public:
    explicit RandomJobsMaker(std::uint64_t seed, int mostStages = 8) : rng_(seed), mostStages_(mostStages) {}

    RandomJobs plain() {
        for (int i = between(1, 3); i > 0; --i)
            made_.resources.push_back({"r" + std::to_string(i), rng_.chance(0.1) ? 1000 : between(1, 4)});
        for (int i = between(1, 4); i > 0; --i)
            addJob("j" + std::to_string(i));
        return made_;
    }

    // And with memory, devices on which lanes share what they load, stages that are called for, and jobs that think; half of the time amounts, priorities and pauses change
    // meanwhile.
    RandomJobs eventful() {
        plain();
        made_.resources.push_back({"memory", 1000, true});
        made_.resources.push_back({"device", between(1, 3)});
        for (SimulatedJob& job : made_.jobs) {
            if (rng_.chance(0.2))
                job.traits.most["memory"] = between(1, 600);
            if (rng_.chance(0.2))
                job.traits.most["device"] = between(1, made_.resources.back().amount);
            made_.gaps.push_back(rng_.chance(0.3) ? 0.5 * between(1, 10) : 0);
            std::vector<RandomJobs::More>& more = made_.more.emplace_back();
            for (SimulatedStage& stage : job.stages)
                more.push_back(extended(stage));
        }
        if (rng_.chance(0.5))
            addChanges();
        return made_;
    }

private:
    int between(int low, int high) { return low + static_cast<int>(rng_.below(static_cast<std::uint64_t>(high - low + 1))); }

    void addJob(std::string name) {
        SimulatedJob job;
        job.traits = {std::move(name), between(0, 1), 1.0 + between(0, 2), {}};
        if (rng_.chance(0.2))
            job.traits.deadline = between(0, 40);
        if (rng_.chance(0.3)) {
            const Resource& limited = made_.resources[rng_.below(made_.resources.size())];
            job.traits.most[limited.name] = between(1, limited.amount);
        }
        job.arrival = rng_.chance(0.3) ? between(0, 10) : 0;
        job.known = rng_.chance(0.5) ? static_cast<std::size_t>(between(1, 4)) : 0;
        for (int s = 0, count = between(0, mostStages_); s < count; ++s)
            addStage(job);
        made_.jobs.push_back(std::move(job));
    }

    void addStage(SimulatedJob& job) {
        SimulatedStage stage;
        stage.kind = std::string(1, static_cast<char>('a' + between(0, 2)));
        stage.seconds = rng_.chance(0.1) ? 0 : 0.25 * between(1, 30);
        for (const Resource& resource : made_.resources)
            if (rng_.chance(0.6)) {
                const auto quota = job.traits.most.find(resource.name);
                stage.uses.push_back({resource.name, between(1, quota == job.traits.most.end() ? resource.amount : quota->second), rng_.chance(0.2)});
            }
        const std::size_t place = job.stages.size();
        for (std::size_t before = place > 8 ? place - 8 : 0; before < place; ++before)
            if (rng_.chance(0.25))
                stage.after.push_back(before);
        job.stages.push_back(std::move(stage));
    }

    RandomJobs::More extended(SimulatedStage& stage) {
        RandomJobs::More more;
        if (rng_.chance(0.3)) {
            stage.uses = {{"device"}};
            more.lane = between(0, 2);
        } else if (rng_.chance(0.5)) {
            stage.uses.push_back({"memory", between(1, 1000)});
        }
        more.calledAfter = rng_.chance(0.2) ? 0.5 * between(1, 20) : 0;
        return more;
    }

    void addChanges() {
        using What = Observed::Event::What;
        for (int i = between(1, 8); i > 0; --i) {
            const double at = 0.5 * between(0, 120);
            const std::size_t job = rng_.below(made_.jobs.size());
            std::size_t resource = rng_.below(made_.resources.size());
            resource = made_.resources[resource].estimated ? made_.resources.size() - 1 : resource;
            const int kind = between(0, 3);
            if (kind < 2)
                made_.changes.push_back({at, What::amount, resource, between(0, made_.resources[resource].amount)});
            else if (kind == 2)
                made_.changes.push_back({at, rng_.chance(0.6) ? What::pause : What::resume, job});
            else
                made_.changes.push_back({at, What::priority, job, between(0, 2)});
        }
        std::ranges::stable_sort(made_.changes, {}, &Observed::Event::at);
        constexpr double kCalm = 100; // then everything is there again
        for (std::size_t i = 0; i < made_.resources.size(); ++i)
            made_.changes.push_back({kCalm, What::amount, i, made_.resources[i].amount});
        for (std::size_t j = 0; j < made_.jobs.size(); ++j)
            made_.changes.push_back({kCalm, What::resume, j});
    }

    Rng rng_;
    const int mostStages_;
    RandomJobs made_;
};

} // namespace tunesmith
