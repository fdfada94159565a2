// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/jobs/outlook.h"

#include <algorithm>
#include <limits>

namespace tunesmith {

Outlook::Outlook(const Scheduler& scheduler, double now) : scheduler_(scheduler), remaining_(scheduler.jobs().size()) {
    countRemaining();
    countBacklogs(now);
}

void Outlook::countRemaining() {
    for (std::size_t i = 0; i < remaining_.size(); ++i) {
        const JobId id(static_cast<std::int64_t>(i));
        for (const auto& [kind, open] : scheduler_.job(id).open) {
            const double each = scheduler_.times().expected(id, kind);
            remaining_[i] += each * static_cast<double>(open);
            longestKind_ = std::max(longestKind_, open > 0 ? each : 0);
        }
    }
}

void Outlook::countBacklogs(double now) {
    const auto add = [&](StageId stage, double seconds) {
        for (const ResourceUse& use : scheduler_.entry(stage).plan.uses)
            if (counts(use))
                backlogs_[use.resource] += seconds * scheduler_.shareOf(use);
    };
    for (const StageId stage : scheduler_.running())
        add(stage, std::max(0.0, scheduler_.expected(stage) - (now - scheduler_.entry(stage).since)));
    busy_ = backlogs_;
    for (const StageId stage : scheduler_.ready()) {
        const double seconds = scheduler_.expected(stage);
        add(stage, seconds);
        countGroup(stage, seconds);
        for (const ResourceUse& use : scheduler_.entry(stage).plan.uses) {
            if (!counts(use))
                continue;
            Longest& longest = longest_[use.resource];
            if (seconds > longest.first)
                longest = {stage, seconds, longest.first};
            else
                longest.second = std::max(longest.second, seconds);
        }
    }
}

void Outlook::countGroup(StageId stage, double seconds) {
    std::vector<std::string> resources;
    for (const ResourceUse& use : scheduler_.entry(stage).plan.uses)
        if (counts(use))
            resources.push_back(use.resource);
    auto group = std::ranges::find(groups_, resources, &Group::resources);
    if (group == groups_.end())
        group = groups_.insert(group, {std::move(resources), 0});
    group->longest = std::max(group->longest, seconds);
}

bool Outlook::counts(const ResourceUse& use) const { return !scheduler_.resource(use.resource).estimated; }

bool Outlook::loads(StageId stage, const std::string& resource) const {
    return std::ranges::any_of(scheduler_.entry(stage).plan.uses, [&](const ResourceUse& use) { return use.resource == resource; });
}

double Outlook::longestRival(StageId stage) const {
    double seconds = 0;
    for (const ResourceUse& use : scheduler_.entry(stage).plan.uses)
        if (const auto longest = longest_.find(use.resource); longest != longest_.end())
            seconds = std::max(seconds, longest->second.stage == stage ? longest->second.second : longest->second.first);
    return seconds;
}

double Outlook::slack(StageId stage) const {
    double least = std::numeric_limits<double>::infinity();
    for (const StageId next : scheduler_.entry(stage).next) {
        const Scheduler::Entry& entry = scheduler_.entry(next);
        if (entry.open > (entry.plan.called ? 2U : 1U))
            continue; // not only this one is missing
        for (const ResourceUse& use : entry.plan.uses) {
            if (!counts(use) || loads(stage, use.resource))
                continue; // the stage itself keeps it busy
            const auto backlog = backlogs_.find(use.resource);
            least = std::min(least, backlog == backlogs_.end() ? 0 : backlog->second);
        }
    }
    return least - scheduler_.expected(stage) - longestRival(stage);
}

double Outlook::gap(StageId stage) const {
    double least = std::numeric_limits<double>::infinity();
    for (const ResourceUse& use : scheduler_.entry(stage).plan.uses) {
        if (!counts(use))
            continue;
        double rival = -1;
        for (const Group& group : groups_)
            if (std::ranges::find(group.resources, use.resource) == group.resources.end() && std::ranges::any_of(group.resources, [&](const std::string& resource) { return loads(stage, resource); }))
                rival = std::max(rival, group.longest);
        const auto busy = busy_.find(use.resource);
        if (rival >= 0)
            least = std::min(least, (busy == busy_.end() ? 0 : busy->second) - rival);
    }
    return least;
}

} // namespace tunesmith
