// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/jobs/stage_board.h"

#include <algorithm>

#include "core/jobs/scheduling_policy.h"

namespace tunesmith {

StageBoard::StageBoard(std::vector<Resource> resources, std::unique_ptr<SchedulingPolicy> policy) : scheduler_(std::move(resources), std::move(policy)) {}

StageBoard::Turn::~Turn() {
    if (board_)
        board_->finish(stage_);
}

JobId StageBoard::addJob(JobTraits traits) {
    const std::lock_guard lock(mutex_);
    return scheduler_.addJob(std::move(traits));
}

void StageBoard::announce(JobId job, const std::string& kind, std::int64_t stages) {
    const std::lock_guard lock(mutex_);
    scheduler_.announce(job, kind, stages);
}

Result<StageId> StageBoard::plan(JobId job, StagePlan plan) {
    const std::lock_guard lock(mutex_);
    plan.called = true;
    return scheduler_.addStage(job, std::move(plan), now());
}

Status StageBoard::revise(StageId stage, std::vector<ResourceUse> uses) {
    const std::lock_guard lock(mutex_);
    return scheduler_.revise(stage, std::move(uses));
}

std::size_t StageBoard::planned(JobId job) const {
    const std::lock_guard lock(mutex_);
    return scheduler_.job(job).unfinished;
}

Result<StageBoard::Turn> StageBoard::begin(StageId stage, const StopToken& stop) {
    constexpr auto kPatience = std::chrono::milliseconds(20); // until a stop is noticed
    std::unique_lock lock(mutex_);
    const Scheduler::Entry& entry = scheduler_.entry(stage);
    if (entry.state == Scheduler::State::skipped)
        return cancelledError();
    TimedStage& called = called_[stage];
    called = {entry.job, stage, entry.plan.kind, entry.plan.uses, {}, now(), 0, 0, 0, false};
    scheduler_.call(stage, now());
    startStages();
    while (!running_.contains(stage)) {
        const bool dropped = scheduler_.entry(stage).state == Scheduler::State::skipped;
        if (!dropped && !stop.stopRequested()) {
            changed_.wait_for(lock, kPatience);
            continue;
        }
        called_.erase(stage);
        if (!dropped)
            scheduler_.skip(stage, now());
        startStages(); // what it held back
        return cancelledError();
    }
    return Turn(*this, stage, running_.at(stage).units);
}

void StageBoard::startStages() {
    const auto started = scheduler_.start(now());
    for (const StageStart& start : started) {
        TimedStage slice = std::move(called_.at(start.stage));
        called_.erase(start.stage);
        slice.units = start.units;
        slice.shares = start.shares;
        slice.begin = now();
        slice.expected = scheduler_.expected(start.stage);
        running_.emplace(start.stage, std::move(slice));
    }
    if (!started.empty())
        changed_.notify_all();
}

void StageBoard::finish(StageId stage) {
    const std::lock_guard lock(mutex_);
    TimedStage slice = std::move(running_.at(stage));
    running_.erase(stage);
    slice.end = now();
    scheduler_.finish(stage, slice.end);
    timeline_.push_back(std::move(slice));
    startStages();
}

void StageBoard::drop(StageId stage) {
    const std::lock_guard lock(mutex_);
    const Scheduler::State state = scheduler_.entry(stage).state;
    if (state == Scheduler::State::waiting || state == Scheduler::State::ready)
        scheduler_.skip(stage, now());
    startStages();
    changed_.notify_all();
}

void StageBoard::setAmount(const std::string& resource, int amount) {
    const std::lock_guard lock(mutex_);
    int& most = most_[resource];
    most = std::max(most, amount);
    for (const Resource& known : scheduler_.resources())
        most = std::max(most, known.name == resource ? known.amount : 0);
    scheduler_.setAmount(resource, amount);
    startStages();
}

std::vector<Resource> StageBoard::resources() const {
    const std::lock_guard lock(mutex_);
    std::vector<Resource> all = scheduler_.resources();
    for (Resource& resource : all)
        if (const auto most = most_.find(resource.name); most != most_.end())
            resource.amount = most->second;
    return all;
}

void StageBoard::setPriority(JobId job, int priority) {
    const std::lock_guard lock(mutex_);
    scheduler_.setPriority(job, priority);
    startStages();
}

void StageBoard::setPaused(JobId job, bool paused) {
    const std::lock_guard lock(mutex_);
    scheduler_.setPaused(job, paused, now());
    startStages();
}

void StageBoard::end(JobId job) {
    const std::lock_guard lock(mutex_);
    scheduler_.end(job, now());
    startStages();
    changed_.notify_all();
}

std::vector<TimedStage> StageBoard::running() const {
    const std::lock_guard lock(mutex_);
    std::vector<TimedStage> stages;
    for (const auto& [id, stage] : running_)
        stages.push_back(stage);
    return stages;
}

std::vector<TimedStage> StageBoard::waiting() const {
    const std::lock_guard lock(mutex_);
    std::vector<TimedStage> stages;
    for (const auto& [id, stage] : called_)
        stages.push_back(stage);
    return stages;
}

std::vector<TimedStage> StageBoard::timeline(std::size_t from) const {
    const std::lock_guard lock(mutex_);
    return {timeline_.begin() + static_cast<std::ptrdiff_t>(std::min(from, timeline_.size())), timeline_.end()};
}

} // namespace tunesmith
