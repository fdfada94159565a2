// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/recorded_jobs.h"

#include <algorithm>
#include <numeric>

#include "core/jobs/stage_board.h"

namespace tunesmith {
namespace {

constexpr std::ptrdiff_t kMostBefore = 64; // more stages of a job do not run at a time, but in a damaged store

// Which of the stages so far must be before one that is called for then: those that had ended, but for what they come after themselves.
class EndedStages {
public:
    void add(const RecordedStage& stage, std::size_t place) { // in the order of their ends
        const std::size_t latest = latest_.empty() ? 0 : latest_.back();
        latest_.push_back(calls_.empty() || stage.called >= calls_[latest] ? calls_.size() : latest);
        ends_.push_back(stage.end);
        calls_.push_back(stage.called);
        places_.push_back(place);
    }
    void collect(double called, std::vector<std::size_t>& before) const {
        const auto last = std::ranges::upper_bound(ends_, called) - ends_.begin();
        if (last == 0)
            return;
        const std::size_t latest = latest_[static_cast<std::size_t>(last) - 1];
        const auto first = std::min(std::ranges::upper_bound(ends_, calls_[latest]) - ends_.begin(), static_cast<std::ptrdiff_t>(latest));
        before.insert(before.end(), places_.begin() + std::max(first, last - kMostBefore), places_.begin() + last);
    }

private:
    std::vector<double> ends_, calls_;
    std::vector<std::size_t> places_;
    std::vector<std::size_t> latest_; // of the stages until there the one that was called for last
};

struct RecordedOrder { // of one job
    EndedStages all, hosted;
    std::map<std::string, EndedStages> onDevice;
};

std::vector<std::size_t> stagesBefore(const RecordedStage& stage, const RecordedOrder& order) {
    std::vector<std::size_t> before;
    if (stage.device.empty()) {
        order.all.collect(stage.called, before);
        return before;
    }
    order.hosted.collect(stage.called, before);
    if (const auto lane = order.onDevice.find(stage.device); lane != order.onDevice.end())
        lane->second.collect(stage.called, before);
    return before;
}

// For how long each had the device of a stage that had begun before.
std::vector<double> sharedSeconds(const std::vector<RecordedStage>& stages) {
    std::vector<std::size_t> order(stages.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return stages[i].begin; });
    std::vector<double> shared(stages.size());
    std::map<std::pair<std::size_t, std::string>, double> until;
    for (const std::size_t i : order) {
        const RecordedStage& stage = stages[i];
        if (stage.device.empty())
            continue;
        double& held = until.try_emplace({stage.job, stage.device}, stage.begin).first->second;
        shared[i] = std::clamp(held - stage.begin, 0.0, stage.end - stage.begin);
        held = std::max(held, stage.end);
    }
    return shared;
}

// A unit of a device, by its name and number.
std::string unitName(const std::string& resource, int unit) { return resource + " " + std::to_string(unit); }

} // namespace

RecordedStage recordedStage(const TimedStage& stage) {
    RecordedStage made{stage.job.index(), stage.kind, stage.uses, {}, stage.called, stage.begin, stage.end};
    for (std::size_t i = 0; i < stage.uses.size(); ++i)
        if (isDeviceResource(stage.uses[i].resource) && !stage.units[i].empty())
            made.device = unitName(stage.uses[i].resource, stage.units[i].front());
    if (stage.shares && made.device.empty()) // there are too many of them to be told apart
        made.uses.clear();
    return made;
}

RecordedStage recordedStage(const JobSlice& slice) {
    RecordedStage made{slice.job, slice.stage, {}, {}, slice.called, slice.begin, slice.end};
    for (const auto& [resource, units] : slice.units) {
        if (units.empty())
            continue;
        made.uses.push_back({resource, static_cast<int>(units.size())});
        if (isDeviceResource(resource))
            made.device = unitName(resource, units.front());
    }
    return made;
}

std::vector<SimulatedJob> recordedJobs(std::vector<RecordedStage> stages, std::size_t jobs) {
    std::ranges::stable_sort(stages, {}, &RecordedStage::end);
    const std::vector<double> shared = sharedSeconds(stages);
    std::vector<SimulatedJob> made(jobs);
    std::vector<RecordedOrder> orders(jobs);
    for (std::size_t i = 0; i < stages.size(); ++i) {
        RecordedStage& stage = stages[i];
        RecordedOrder& order = orders[stage.job];
        std::vector<SimulatedStage>& all = made[stage.job].stages;
        std::vector<std::size_t> after = stagesBefore(stage, order);
        const double seconds = stage.end - stage.begin;
        if (shared[i] > 0) {
            all.push_back({stage.kind, {}, std::move(after), shared[i]});
            after = {all.size() - 1};
        }
        if (shared[i] == 0 || shared[i] < seconds)
            all.push_back({stage.kind, std::move(stage.uses), std::move(after), seconds - shared[i]});
        order.all.add(stage, all.size() - 1);
        (stage.device.empty() ? order.hosted : order.onDevice[stage.device]).add(stage, all.size() - 1);
    }
    return made;
}

std::map<std::string, double> recordedUtilisation(const std::vector<SimulatedJob>& jobs, const std::vector<Resource>& resources, double makespan) {
    std::map<std::string, int> amounts;
    for (const Resource& resource : resources)
        amounts[resource.name] = std::max(1, resource.amount);
    std::map<std::string, double> loads;
    for (const SimulatedJob& job : jobs)
        for (const SimulatedStage& stage : job.stages)
            for (const ResourceUse& use : stage.uses)
                loads[use.resource] += makespan > 0 ? stage.seconds / makespan * (use.exclusive ? 1.0 : static_cast<double>(use.amount) / amounts.at(use.resource)) : 0;
    return loads;
}

} // namespace tunesmith
