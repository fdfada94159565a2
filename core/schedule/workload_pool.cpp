// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/workload_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tunesmith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a batch for each workload may bring. Values that are only moved count ten operations each.
std::vector<TaskShare::Task> shareOf(const std::vector<std::unique_ptr<WorkloadSearch>>& searches) {
    std::map<std::string, int> kinds;
    std::vector<TaskShare::Task> tasks;
    for (const auto& search : searches) {
        const Workload& workload = search->task().workload;
        const auto elements = static_cast<double>(elementCount(workload.graph.value(workload.graph.outputs()[0]).type.shape()));
        const int kind = kinds.try_emplace(workload.op, static_cast<int>(kinds.size())).first->second;
        tasks.push_back({static_cast<double>(search->task().count), std::max(static_cast<double>(workload.flops), 10 * elements), kind});
    }
    return tasks;
}

} // namespace

void WorkloadPool::add(std::unique_ptr<WorkloadSearch> search) { searches_.push_back(std::move(search)); }

void WorkloadPool::begin(std::map<std::string, double> records) {
    const std::lock_guard lock(mutex_);
    records_ = std::move(records);
    share_ = TaskShare(shareOf(searches_));
    places_.resize(searches_.size());
    for (std::size_t i = 0; i < searches_.size(); ++i)
        places_[i].deliveredMs = searches_[i]->deliveredMs();
}

std::size_t WorkloadPool::placeOf(const WorkloadSearch& search) const {
    return static_cast<std::size_t>(std::ranges::find(searches_, &search, &std::unique_ptr<WorkloadSearch>::get) - searches_.begin());
}

std::optional<double> WorkloadPool::sumMs() const {
    double sum = 0;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
        const auto record = records_.find(searches_[i]->key());
        const double best = record == records_.end() ? kInfinity : record->second;
        sum += searches_[i]->task().count * std::min(best, places_[i].deliveredMs.value_or(best));
    }
    return std::isfinite(sum) ? std::optional(sum) : std::nullopt;
}

bool WorkloadPool::goalMet() const { return options_.targetMs && sumMs().value_or(kInfinity) <= *options_.targetMs; }

std::optional<double> WorkloadPool::knownMs() const {
    const std::lock_guard lock(mutex_);
    return sumMs();
}

bool WorkloadPool::isGoalMet() const {
    const std::lock_guard lock(mutex_);
    return goalMet();
}

// Trials of an earlier part of the run are spent, also before the search has come to them again.
std::size_t WorkloadPool::trialsLeft(std::size_t index, bool promised) const {
    if (!options_.totalTrials)
        return std::numeric_limits<std::size_t>::max();
    std::size_t spent = 0;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
        spent += i == index ? places_[i].spent : std::max(places_[i].spent, searches_[i]->storedTrials());
        spent += promised ? places_[i].promised : 0;
    }
    return *options_.totalTrials - std::min(spent, *options_.totalTrials);
}

// Where there are few trials for many workloads, first batches are smaller, so that each has its turn.
std::size_t WorkloadPool::largestBatch(std::size_t index) const {
    const std::size_t left = trialsLeft(index, true);
    if (!options_.totalTrials || !share_.isFirst(index))
        return left;
    return std::min(left, std::max<std::size_t>(1, *options_.totalTrials / searches_.size()));
}

std::optional<std::size_t> WorkloadPool::pick(int lane) const {
    if (goalMet())
        return std::nullopt;
    std::vector<bool> open;
    for (std::size_t i = 0; i < searches_.size(); ++i)
        open.push_back(isFor(i, lane) && isOpen(i) && trialsLeft(i, true) > 0);
    if (isShared(options_))
        return share_.next(open);
    const auto first = std::ranges::find(open, true);
    return first == open.end() ? std::nullopt : std::optional(static_cast<std::size_t>(first - open.begin()));
}

bool WorkloadPool::hasNext(int lane) const {
    const std::lock_guard lock(mutex_);
    return pick(lane).has_value();
}

std::optional<WorkloadPool::Next> WorkloadPool::takeNext(int lane) {
    const std::lock_guard lock(mutex_);
    const auto index = pick(lane);
    if (!index)
        return std::nullopt;
    const std::size_t most = largestBatch(*index);
    places_[*index].lane = lane;
    places_[*index].promised = std::min(most, options_.batch);
    return Next{searches_[*index].get(), most};
}

void WorkloadPool::proposed(WorkloadSearch& search, bool any) {
    const std::lock_guard lock(mutex_);
    const std::size_t index = placeOf(search);
    places_[index].promised = 0;
    places_[index].spent = search.proposals();
    if (!any)
        return;
    ++places_[index].underWay;
    share_.begun(index);
}

void WorkloadPool::delivered(WorkloadSearch& search) {
    const std::lock_guard lock(mutex_);
    const std::size_t index = placeOf(search);
    Place& place = places_[index];
    place.deliveredMs = search.deliveredMs();
    share_.delivered(index, place.deliveredMs);
    if (--place.underWay == 0 && isShared(options_) && !search.finished())
        place.lane = kNone;
}

bool WorkloadPool::hasFree() const {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < searches_.size(); ++i)
        if (places_[i].lane == kNone && isOpen(i))
            return true;
    return false;
}

void WorkloadPool::closeSpent(int lane) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < searches_.size(); ++i)
        if (isFor(i, lane) && trialsLeft(i, false) == 0)
            searches_[i]->close(StopReason::budgetTrials);
}

WorkloadSearch* WorkloadPool::takeFinished(int lane) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < searches_.size(); ++i)
        if (isFor(i, lane) && !searches_[i]->isDone() && searches_[i]->finished()) {
            places_[i].lane = lane;
            return searches_[i].get();
        }
    return nullptr;
}

WorkloadSearch* WorkloadPool::takeUnsettled(int lane, std::size_t index) {
    const std::lock_guard lock(mutex_);
    if (!isFor(index, lane) || searches_[index]->isDone() || searches_[index]->trials() == 0)
        return nullptr;
    places_[index].lane = lane;
    return searches_[index].get();
}

void WorkloadPool::leave(int lane) {
    const std::lock_guard lock(mutex_);
    for (Place& place : places_)
        if (place.lane == lane)
            place.lane = kNone;
}

} // namespace tunesmith
