// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/job_watch.h"

#include <algorithm>

namespace tunesmith {

JobSlice sliceOf(const TimedStage& stage) {
    return {stage.job.index(), stage.kind, unitsOf(stage), stage.called, stage.begin, stage.end, stage.expected};
}

std::map<std::string, std::vector<int>> unitsOf(const TimedStage& stage) {
    std::map<std::string, std::vector<int>> units;
    for (std::size_t i = 0; i < stage.uses.size(); ++i)
        if (!stage.units[i].empty())
            units[stage.uses[i].resource] = stage.units[i];
    return units;
}

std::vector<JobWait> waitsOf(const std::vector<TimedStage>& waiting, const std::vector<TimedStage>& running, const std::vector<Resource>& resources) {
    struct Left {
        int amount = 0;
        bool used = false, held = false; // held: by an exclusive stage
    };
    std::map<std::string, Left> left;
    for (const Resource& resource : resources)
        left[resource.name].amount = resource.amount;
    for (const TimedStage& stage : running)
        for (const ResourceUse& use : stage.shares ? std::vector<ResourceUse>() : stage.uses) {
            Left& of = left[use.resource];
            of.amount -= use.amount;
            of.used = true;
            of.held |= use.exclusive;
        }
    std::vector<JobWait> waits;
    for (const TimedStage& stage : waiting) {
        JobWait wait{stage.job.index(), stage.kind, {}, {}, stage.called};
        for (const ResourceUse& use : stage.uses) {
            const Left& of = left[use.resource];
            wait.needs[use.resource] = use.amount;
            if (of.held || (use.exclusive ? of.used : of.amount < use.amount))
                wait.lacks.push_back(use.resource);
        }
        waits.push_back(std::move(wait));
    }
    return waits;
}

void JobWatch::tellStages() {
    if (!listener_)
        return;
    const std::lock_guard lock(mutex_);
    const std::vector<TimedStage> ended = board_.timeline(told_);
    told_ += ended.size();
    for (const TimedStage& stage : ended)
        listener_->onSlice(sliceOf(stage));
    const std::vector<TimedStage> stages = board_.running();
    std::vector<JobSlice> running;
    for (const TimedStage& stage : stages)
        running.push_back(sliceOf(stage));
    listener_->onRunning(running);
    listener_->onWaiting(waitsOf(board_.waiting(), stages, board_.resources()));
}

void JobWatch::tell(const JobStanding& standing) {
    if (!listener_)
        return;
    const std::lock_guard lock(mutex_);
    listener_->onJob(standing);
}

void StandingWatch::onWish(int priority, bool paused) {
    const std::lock_guard lock(mutex_);
    if (standing_.priority == priority && standing_.paused == paused)
        return;
    standing_.priority = priority;
    standing_.paused = paused;
    watch_.tell(standing_);
}

void StandingWatch::onQueued() {
    const std::lock_guard lock(mutex_);
    standing_.ended = standing_.cancelled = false;
    standing_.error.clear();
    standing_.outcome = {};
    watch_.tell(standing_);
}

void StandingWatch::onBegin(double fraction, std::int64_t trials) {
    const std::lock_guard lock(mutex_);
    standing_.running = true;
    standing_.fraction = std::clamp(fraction, standing_.fraction, 1.0);
    standing_.trials = std::max(standing_.trials, trials);
    watch_.tell(standing_);
}

void StandingWatch::onLeg() {
    const std::lock_guard lock(mutex_);
    counts_.clear();
    bests_.clear();
    standing_.bestMs.reset();
}

void StandingWatch::onTasks(const std::vector<TuningTask>& tasks) {
    const std::lock_guard lock(mutex_);
    for (const TuningTask& task : tasks)
        counts_[task.key] = task.count;
    watch_.tell(standing_);
}

void StandingWatch::onTrial(const TuneTrial& trial) {
    const std::lock_guard lock(mutex_);
    ++standing_.trials;
    if (trial.bestMs)
        bests_[trial.workload] = *trial.bestMs;
    if (bests_.size() < counts_.size() || counts_.empty())
        return;
    double sum = 0;
    for (const auto& [workload, ms] : bests_)
        sum += ms * static_cast<double>(counts_[workload]);
    standing_.bestMs = sum;
}

void StandingWatch::onProgress(double fraction) {
    const std::lock_guard lock(mutex_);
    standing_.fraction = std::clamp(fraction, standing_.fraction, 1.0);
    watch_.tell(standing_);
}

void StandingWatch::onEnd(const std::string& state, const std::string& error, const JobOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    standing_.running = false;
    standing_.ended = state != "queued";
    standing_.cancelled = state == "cancelled" || state == "removed";
    standing_.error = error;
    standing_.outcome = outcome;
    if (state == "done")
        standing_.fraction = 1;
    watch_.tell(standing_);
}

double StandingWatch::fraction() const {
    const std::lock_guard lock(mutex_);
    return standing_.fraction;
}

} // namespace tunesmith
