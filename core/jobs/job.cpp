// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/jobs/job.h"

#include <algorithm>
#include <cassert>
#include <thread>

namespace tunesmith {

using State = StageRecord::State;

Job::Job(std::vector<Resource> resources) {
    for (const Resource& resource : resources)
        loads_[resource.name].amount = resource.amount;
}

Result<StageId> Job::add(Stage stage) {
    const std::lock_guard lock(mutex_);
    const StageId id(static_cast<std::int64_t>(entries_.size()));
    StageRecord record;
    record.id = id;
    record.name = stage.name;
    for (const ResourceUse& use : stage.uses) {
        const auto load = loads_.find(use.resource);
        if (load == loads_.end())
            return inputError("stage " + stage.name + " needs resource " + use.resource +
                              ", which the job does not have");
        if (use.amount < 1 || use.amount > load->second.amount)
            return inputError("stage " + stage.name + " needs " + std::to_string(use.amount) +
                              " of resource " + use.resource + ", of which there are " +
                              std::to_string(load->second.amount));
        if (std::ranges::count(record.resources, use.resource) > 0)
            return inputError("stage " + stage.name + " names resource " + use.resource + " twice");
        record.resources.push_back(use.resource);
    }
    for (const StageId before : stage.after)
        if (!before.valid() || before >= id)
            return inputError("stage " + stage.name + " waits for a stage that is not part of its job");
    entries_.push_back({std::move(stage), std::move(record)});
    changed_.notify_all();
    return id;
}

bool Job::fits(const Stage& stage, const std::map<std::string, Load>& loads) const {
    return std::ranges::all_of(stage.uses, [&](const ResourceUse& use) {
        const Load& load = loads.at(use.resource);
        return !load.held && (use.exclusive ? load.used == 0 : load.used + use.amount <= load.amount);
    });
}

void Job::take(const Stage& stage, std::map<std::string, Load>& loads) const {
    for (const ResourceUse& use : stage.uses) {
        loads[use.resource].used += use.amount;
        loads[use.resource].held |= use.exclusive;
    }
}

// The first stage that can begin now. What an earlier ready stage waits for counts as taken.
std::optional<std::size_t> Job::pick() const {
    std::map<std::string, Load> loads = loads_;
    for (std::size_t i = firstWaiting_; i < entries_.size(); ++i) {
        const Entry& entry = entries_[i];
        const bool ready =
            entry.record.state == State::waiting && std::ranges::all_of(entry.stage.after, [&](StageId id) {
                return entries_[id.index()].record.state == State::done;
            });
        if (ready && fits(entry.stage, loads))
            return i;
        if (ready)
            take(entry.stage, loads);
    }
    return std::nullopt;
}

void Job::work(int thread, const StopToken& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        const bool ending = failed_ || stop.stopRequested();
        const std::optional<std::size_t> index = ending ? std::nullopt : pick();
        if (!index) {
            if (ending || running_ == 0)
                break;
            changed_.wait(lock);
            continue;
        }
        Entry& entry = entries_[*index];
        entry.record.state = State::running;
        entry.record.thread = thread;
        entry.record.begin = now();
        take(entry.stage, loads_);
        ++running_;
        while (firstWaiting_ < entries_.size() && entries_[firstWaiting_].record.state != State::waiting)
            ++firstWaiting_;
        const auto run = std::move(entry.stage.run); // entries_ may grow meanwhile
        lock.unlock();
        const Status status = run ? run(stop) : Status();
        lock.lock();
        finish(*index, status);
    }
    changed_.notify_all();
}

void Job::finish(std::size_t index, const Status& status) {
    Entry& entry = entries_[index];
    entry.record.state = status.ok() ? State::done : State::failed;
    entry.record.end = now();
    if (!status.ok()) {
        entry.record.message = status.error().message;
        errors_.emplace(index, status.error());
        failed_ = true;
    }
    for (const ResourceUse& use : entry.stage.uses) {
        loads_[use.resource].used -= use.amount;
        if (use.exclusive)
            loads_[use.resource].held = false;
    }
    --running_;
    changed_.notify_all();
}

Status Job::run(int threads, const StopToken& stop) {
    assert(threads > 0 && begun_ == std::chrono::steady_clock::time_point{});
    {
        const std::lock_guard lock(mutex_);
        begun_ = std::chrono::steady_clock::now();
    }
    std::vector<std::jthread> crew;
    for (int i = 0; i < threads; ++i)
        crew.emplace_back([this, i, &stop] { work(i, stop); });
    crew.clear();
    return outcome(stop);
}

Status Job::outcome(const StopToken& stop) {
    const std::lock_guard lock(mutex_);
    bool skipped = false;
    for (Entry& entry : entries_) {
        if (entry.record.state == State::waiting) {
            entry.record.state = State::skipped;
            skipped = true;
        }
    }
    for (const auto& [index, error] : errors_)
        if (!error.isCancelled() || stop.stopRequested())
            return error.isCancelled() ? error : error.within(entries_[index].record.name);
    if (!errors_.empty())
        return errors_.begin()->second;
    return skipped ? Status(cancelledError()) : Status();
}

std::vector<StageRecord> Job::records() const {
    const std::lock_guard lock(mutex_);
    std::vector<StageRecord> out;
    for (const Entry& entry : entries_)
        out.push_back(entry.record);
    return out;
}

double Job::now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
}

} // namespace tunesmith
