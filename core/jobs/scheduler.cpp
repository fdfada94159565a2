// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/jobs/scheduler.h"

#include <algorithm>
#include <cassert>

#include "core/jobs/scheduling_policy.h"

namespace tunesmith {
namespace {

constexpr int kMostUnits = 64; // of resources whose units are told apart; what is estimated is only counted

} // namespace

Scheduler::Scheduler(std::vector<Resource> resources, std::unique_ptr<SchedulingPolicy> policy) : resources_(std::move(resources)), policy_(std::move(policy)) {
    for (const Resource& resource : resources_) {
        assert(resource.amount > 0);
        places_.emplace(resource.name, loads_.size());
        const bool counted = resource.estimated || resource.amount > kMostUnits;
        loads_.push_back({0, false, std::vector<bool>(counted ? 0 : static_cast<std::size_t>(resource.amount))});
    }
}

Scheduler::~Scheduler() = default;

JobId Scheduler::addJob(JobTraits traits) {
    assert(traits.weight > 0);
    jobs_.emplace_back().traits = std::move(traits);
    return JobId(static_cast<std::int64_t>(jobs_.size()) - 1);
}

Status Scheduler::check(JobId job, const StagePlan& plan) const {
    std::vector<std::string> named;
    for (const ResourceUse& use : plan.uses) {
        const auto place = places_.find(use.resource);
        if (place == places_.end())
            return inputError("a stage '" + plan.kind + "' needs '" + use.resource + "', which there is not");
        const auto& [name, amount, estimated, changes] = resources_[place->second];
        if (use.amount < 1 || (use.amount > amount && !estimated && !changes))
            return inputError("a stage '" + plan.kind + "' needs " + std::to_string(use.amount) + " of '" + use.resource + "', of which there are " + std::to_string(amount));
        const auto& most = jobs_[job.index()].traits.most;
        if (const auto quota = most.find(use.resource); quota != most.end() && use.amount > quota->second && !estimated)
            return inputError("a stage '" + plan.kind + "' needs " + std::to_string(use.amount) + " of '" + use.resource + "', of which its job may have " + std::to_string(quota->second));
        if (std::ranges::find(named, use.resource) != named.end())
            return inputError("a stage '" + plan.kind + "' names '" + use.resource + "' twice");
        named.push_back(use.resource);
    }
    for (const StageId before : plan.after)
        if (!before.valid() || before.index() >= entries_.size() || entry(before).job != job)
            return inputError("a stage '" + plan.kind + "' waits for a stage that is not of its job");
    return {};
}

Result<StageId> Scheduler::addStage(JobId job, StagePlan plan, double now) {
    TS_TRY(check(job, plan));
    limitEstimates(plan.uses);
    const StageId id(static_cast<std::int64_t>(entries_.size()));
    Job& owner = jobs_[job.index()];
    if (!std::exchange(owner.begun, true))
        join(job, now);
    ++owner.unfinished;
    if (const auto ahead = owner.ahead.find(plan.kind); ahead != owner.ahead.end() && ahead->second > 0)
        --ahead->second;
    else
        ++owner.open[plan.kind];
    Entry entry{job, std::move(plan), State::waiting, now, 0, {}, {}, false};
    for (const StageId before : entry.plan.after)
        if (const State state = entries_[before.index()].state; state != State::done && state != State::skipped) {
            ++entry.open;
            entries_[before.index()].next.push_back(id);
        }
    entry.open += entry.plan.called ? 1 : 0;
    entries_.push_back(std::move(entry));
    if (entries_.back().open == 0)
        makeReady(id, now);
    return id;
}

void Scheduler::limitEstimates(std::vector<ResourceUse>& uses) const {
    for (ResourceUse& use : uses)
        if (resource(use.resource).estimated)
            use.amount = std::min(use.amount, resource(use.resource).amount);
}

Status Scheduler::revise(StageId stage, std::vector<ResourceUse> uses) {
    Entry& entry = entries_[stage.index()];
    assert(entry.state == State::waiting || entry.state == State::skipped);
    StagePlan plan = entry.plan;
    plan.uses = std::move(uses);
    TS_TRY(check(entry.job, plan));
    limitEstimates(plan.uses);
    entry.plan = std::move(plan);
    return {};
}

// Who comes late, or back, is served from now on like the one that was served least.
void Scheduler::join(JobId job, double now) {
    std::optional<double> least;
    for (std::size_t i = 0; i < jobs_.size(); ++i)
        if (const JobId other(static_cast<std::int64_t>(i)); other != job && jobs_[i].begun && !jobs_[i].ended && !jobs_[i].paused)
            least = std::min(levelOf(other, now), least.value_or(levelOf(other, now)));
    if (least)
        jobs_[job.index()].headStart += std::max(0.0, *least - levelOf(job, now)) * jobs_[job.index()].traits.weight;
}

void Scheduler::setAmount(const std::string& resource, int amount) {
    assert(amount >= 0);
    const auto [place, isNew] = places_.try_emplace(resource, resources_.size());
    if (isNew) {
        resources_.push_back({resource});
        loads_.emplace_back();
    }
    resources_[place->second].amount = amount;
    resources_[place->second].changes = true;
    std::vector<bool>& busy = loads_[place->second].busy;
    if (amount <= kMostUnits)
        busy.resize(std::max(busy.size(), static_cast<std::size_t>(amount)));
}

void Scheduler::announce(JobId job, const std::string& kind, std::int64_t stages) {
    std::int64_t& ahead = jobs_[job.index()].ahead[kind];
    jobs_[job.index()].open[kind] += stages - ahead;
    ahead = stages;
}

void Scheduler::makeReady(StageId stage, double now) {
    Entry& entry = entries_[stage.index()];
    entry.state = State::ready;
    entry.since = now;
    ready_.push_back(stage);
}

bool Scheduler::sharesLane(const Entry& entry) const { return entry.plan.lane >= 0 && lanes_.contains({entry.job, entry.plan.lane}); }

bool Scheduler::fits(const StagePlan& plan, const std::vector<Load>& loads) const {
    return std::ranges::all_of(plan.uses, [&](const ResourceUse& use) {
        const std::size_t place = places_.at(use.resource);
        const Load& load = loads[place];
        return !load.held && load.used + use.amount <= resources_[place].amount && (!use.exclusive || load.used == 0);
    });
}

// What stages of one lane load counts once. `before`: stages that wait, for whose jobs it counts as well.
bool Scheduler::withinQuota(const Entry& entry, const std::vector<StageId>& before) const {
    const auto amountIn = [](const std::vector<ResourceUse>& uses, const std::string& resource) -> std::int64_t {
        const auto use = std::ranges::find(uses, resource, &ResourceUse::resource);
        return use == uses.end() ? 0 : use->amount;
    };
    return sharesLane(entry) || std::ranges::all_of(job(entry.job).traits.most, [&](const auto& quota) {
        const std::int64_t wanted = amountIn(entry.plan.uses, quota.first);
        std::int64_t amount = 0;
        for (const StageId other : running_)
            if (this->entry(other).job == entry.job && this->entry(other).plan.lane < 0)
                amount += amountIn(this->entry(other).plan.uses, quota.first);
        for (const auto& [place, lane] : lanes_)
            if (place.first == entry.job)
                amount += amountIn(lane.uses, quota.first);
        for (const StageId other : before)
            if (this->entry(other).job == entry.job)
                amount += amountIn(this->entry(other).plan.uses, quota.first);
        const bool alone = amount == 0 && resource(quota.first).estimated; // however much it needs
        return wanted == 0 || alone || amount + wanted <= quota.second;
    });
}

void Scheduler::reserve(const StagePlan& plan, std::vector<Load>& loads) const {
    for (const ResourceUse& use : plan.uses) {
        Load& load = loads[places_.at(use.resource)];
        load.used += use.amount;
        load.held |= use.exclusive;
    }
}

// In a lane the first stage takes, the last one gives back.
void Scheduler::begin(Entry& entry) {
    entry.shares = sharesLane(entry);
    if (entry.plan.lane < 0) {
        entry.units = take(entry.plan.uses);
        return;
    }
    Lane& lane = lanes_[{entry.job, entry.plan.lane}];
    if (++lane.running == 1) {
        lane.uses = entry.plan.uses;
        lane.units = take(lane.uses);
    }
    entry.units = lane.units;
}

std::vector<std::vector<int>> Scheduler::take(const std::vector<ResourceUse>& uses) {
    std::vector<std::vector<int>> taken;
    for (const ResourceUse& use : uses) {
        Load& load = loads_[places_.at(use.resource)];
        load.used += use.amount;
        load.held |= use.exclusive;
        std::vector<int>& units = taken.emplace_back();
        for (std::size_t unit = 0; unit < load.busy.size() && static_cast<int>(units.size()) < use.amount; ++unit)
            if (!load.busy[unit]) {
                load.busy[unit] = true;
                units.push_back(static_cast<int>(unit));
            }
    }
    return taken;
}

void Scheduler::release(const Entry& entry) {
    if (entry.plan.lane < 0)
        return release(entry.plan.uses, entry.units);
    const auto lane = lanes_.find({entry.job, entry.plan.lane});
    if (--lane->second.running > 0)
        return;
    release(lane->second.uses, lane->second.units);
    lanes_.erase(lane);
}

void Scheduler::release(const std::vector<ResourceUse>& uses, const std::vector<std::vector<int>>& units) {
    for (std::size_t i = 0; i < uses.size(); ++i) {
        Load& load = loads_[places_.at(uses[i].resource)];
        load.used -= uses[i].amount;
        load.held &= !uses[i].exclusive;
        for (const int unit : units[i])
            load.busy[static_cast<std::size_t>(unit)] = false;
    }
}

std::vector<StageStart> Scheduler::start(double now) {
    std::vector<StageId> candidates;
    std::ranges::copy_if(ready_, std::back_inserter(candidates), [&](StageId stage) { return !job(entry(stage).job).paused; });
    policy_->order(*this, candidates, now);
    std::ranges::stable_sort(candidates, std::greater(), [&](StageId stage) { return job(entry(stage).job).traits.priority; });
    std::vector<StageStart> started;
    std::vector<Load> loads = loads_; // with what is held for stages that have to wait
    std::vector<StageId> waiting;     // what their jobs may have is held for them, too; for those that wait for that, nothing of others
    for (const StageId stage : candidates) {
        Entry& entry = entries_[stage.index()];
        if (!withinQuota(entry, waiting)) {
            waiting.push_back(stage);
            continue;
        }
        if (!sharesLane(entry)) {
            const bool begins = !policy_->controlsLoad() || fits(entry.plan, loads);
            reserve(entry.plan, loads);
            if (!begins) {
                waiting.push_back(stage);
                continue;
            }
        }
        begin(entry);
        entry.state = State::running;
        entry.since = now;
        running_.push_back(stage);
        started.push_back({stage, entry.units, entry.shares});
    }
    std::erase_if(ready_, [&](StageId stage) { return entry(stage).state != State::ready; });
    return started;
}

void Scheduler::finish(StageId stage, double now) {
    Entry& entry = entries_[stage.index()];
    assert(entry.state == State::running);
    release(entry);
    entry.state = State::done;
    std::erase(running_, stage);
    const double seconds = now - entry.since;
    times_.learn(entry.job, entry.plan.kind, seconds);
    Job& owner = jobs_[entry.job.index()];
    --owner.unfinished;
    --owner.open[entry.plan.kind];
    if (!entry.shares)
        for (const ResourceUse& use : entry.plan.uses)
            owner.loaded[use.resource] += seconds * shareOf(use);
    release(entry.next, now);
}

void Scheduler::release(const std::vector<StageId>& next, double now) {
    for (const StageId stage : next)
        if (Entry& entry = entries_[stage.index()]; --entry.open == 0 && entry.state == State::waiting)
            makeReady(stage, now);
}

void Scheduler::call(StageId stage, double now) {
    assert(entry(stage).plan.called);
    release({stage}, now);
}

void Scheduler::skip(StageId stage, double now) {
    Entry& entry = entries_[stage.index()];
    assert(entry.state == State::waiting || entry.state == State::ready);
    entry.state = State::skipped;
    std::erase(ready_, stage);
    --jobs_[entry.job.index()].unfinished;
    --jobs_[entry.job.index()].open[entry.plan.kind];
    release(entry.next, now);
}

double Scheduler::serviceOf(JobId job, double now) const {
    std::map<std::string, double> loaded = jobs_[job.index()].loaded;
    for (const StageId stage : running_)
        if (entry(stage).job == job && !entry(stage).shares)
            for (const ResourceUse& use : entry(stage).plan.uses)
                loaded[use.resource] += (now - entry(stage).since) * shareOf(use);
    double most = 0;
    for (const auto& [resource, seconds] : loaded)
        most = std::max(most, seconds);
    return most;
}

void Scheduler::end(JobId job, double now) {
    Job& owner = jobs_[job.index()];
    for (const auto& [kind, stages] : owner.ahead)
        owner.open[kind] -= stages;
    owner.ahead.clear();
    owner.ended = true;
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].job == job && (entries_[i].state == State::waiting || entries_[i].state == State::ready))
            skip(StageId(static_cast<std::int64_t>(i)), now);
}

void Scheduler::setPriority(JobId job, int priority) { jobs_[job.index()].traits.priority = priority; }

void Scheduler::setPaused(JobId job, bool paused, double now) {
    if (jobs_[job.index()].paused && !paused && jobs_[job.index()].begun)
        join(job, now);
    jobs_[job.index()].paused = paused;
}

} // namespace tunesmith
