// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <limits>

#include "core/jobs/scheduling_policy.h"
#include "tests/core/jobs/observed_jobs.h"
#include "tests/core/jobs/random_jobs.h"
#include "tests/take.h"

namespace tunesmith {

// Runs random jobs on a virtual clock, with what happens to them meanwhile, and keeps what it sees.
class DrivenJobs {
public:
    DrivenJobs(const RandomJobs& random, const std::string& policy) : random_(random), scheduler_(random.resources, take(makePolicy(policy))), jobs_(random.jobs.size()) {
        seen_.resources = random.resources;
        seen_.controlled = take(makePolicy(policy))->controlsLoad();
        seen_.inTurn = policy == "sequential";
        if (random.changes.empty() && (policy == "greedy" || policy == "fair" || policy == "predictive"))
            seen_.patience = policy == "greedy" ? 0 : 20;
        seen_.eachOfItsJob = policy == "fair";
        for (const SimulatedJob& job : random.jobs) {
            seen_.jobs.push_back(job.traits);
            const JobId id = scheduler_.addJob(job.traits);
            scheduler_.announce(id, "a", static_cast<std::int64_t>(job.stages.size()) / 2);
        }
    }

    Observed go() {
        while (true) {
            change();
            addStages();
            call();
            for (StageStart& start : scheduler_.start(now_)) {
                const std::size_t stage = start.stage.index();
                running_.emplace_back(now_ + seen_.stages[stage].seconds, stage);
                seen_.events.push_back({now_, What::begin, stage, 0, std::move(start.units)});
            }
            const double next = nextTime();
            if (next == kNever)
                return std::move(seen_);
            now_ = next;
            finish();
        }
    }

private:
    using What = Observed::Event::What;
    static constexpr double kNever = std::numeric_limits<double>::infinity();
    struct Progress {
        std::size_t added = 0, done = 0;
        double notBefore = 0;
        std::vector<std::size_t> places;
    };

    void change() {
        for (; changed_ < random_.changes.size() && random_.changes[changed_].at <= now_; ++changed_) {
            const Observed::Event& event = random_.changes[changed_];
            const JobId job(static_cast<std::int64_t>(event.place));
            if (event.what == What::amount)
                scheduler_.setAmount(random_.resources[event.place].name, event.value);
            else if (event.what == What::priority)
                scheduler_.setPriority(job, event.value);
            else
                scheduler_.setPaused(job, event.what == What::pause, now_);
            seen_.events.push_back(event);
            seen_.events.back().at = now_;
        }
    }

    void addStages() {
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            const SimulatedJob& job = random_.jobs[j];
            while (std::max(job.arrival, jobs_[j].notBefore) <= now_ && jobs_[j].added < job.stages.size() && (job.known == 0 || jobs_[j].added < jobs_[j].done + job.known))
                addStage(j);
        }
    }

    void addStage(std::size_t j) {
        Progress& progress = jobs_[j];
        const SimulatedStage& stage = random_.jobs[j].stages[progress.added];
        const RandomJobs::More& more = random_.more[j][progress.added++];
        StagePlan plan{stage.kind, stage.uses, {}, more.calledAfter > 0, more.lane};
        Observed::Stage one{j, stage.uses, {}, stage.seconds, more.lane};
        for (const std::size_t before : stage.after) {
            one.after.push_back(progress.places[before]);
            plan.after.emplace_back(static_cast<std::int64_t>(progress.places[before]));
        }
        const StageId id = take(scheduler_.addStage(JobId(static_cast<std::int64_t>(j)), std::move(plan), now_));
        progress.places.push_back(id.index());
        seen_.stages.push_back(std::move(one));
        seen_.events.push_back({now_, What::add, id.index(), more.calledAfter > 0 ? 1 : 0});
        if (more.calledAfter > 0)
            calls_.emplace_back(now_ + more.calledAfter, id.index());
    }

    void call() {
        for (const auto& [at, stage] : calls_)
            if (at <= now_) {
                scheduler_.call(StageId(static_cast<std::int64_t>(stage)), now_);
                seen_.events.push_back({now_, What::call, stage});
            }
        std::erase_if(calls_, [&](const auto& call) { return call.first <= now_; });
    }

    double nextTime() const {
        double next = changed_ < random_.changes.size() ? random_.changes[changed_].at : kNever;
        for (const auto& [at, stage] : running_)
            next = std::min(next, at);
        for (const auto& [at, stage] : calls_)
            next = std::min(next, at);
        for (std::size_t j = 0; j < jobs_.size(); ++j)
            if (const double at = std::max(random_.jobs[j].arrival, jobs_[j].notBefore); at > now_ && jobs_[j].added < random_.jobs[j].stages.size())
                next = std::min(next, at);
        return next;
    }

    void finish() {
        for (const auto& [at, stage] : running_)
            if (at <= now_) {
                scheduler_.finish(StageId(static_cast<std::int64_t>(stage)), now_);
                seen_.events.push_back({now_, What::end, stage});
                const std::size_t job = seen_.stages[stage].job;
                jobs_[job].notBefore = now_ + random_.gaps[job];
                if (++jobs_[job].done == random_.jobs[job].stages.size())
                    scheduler_.end(JobId(static_cast<std::int64_t>(job)), now_);
            }
        std::erase_if(running_, [&](const auto& running) { return running.first <= now_; });
    }

    const RandomJobs& random_;
    Scheduler scheduler_;
    std::vector<Progress> jobs_;
    std::vector<std::pair<double, std::size_t>> running_, calls_; // when, which stage
    std::size_t changed_ = 0;
    double now_ = 0;
    Observed seen_;
};

} // namespace tunesmith
