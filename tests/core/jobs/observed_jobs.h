// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <cmath>
#include <set>

#include "core/jobs/simulation.h"

namespace tunesmith {

// What whoever runs the stages of jobs sees of a schedule, and whether it keeps what a scheduler promises. Shares no code with the scheduler.
struct Observed {
    struct Stage {
        std::size_t job = 0;
        std::vector<ResourceUse> uses;
        std::vector<std::size_t> after; // places in `stages`
        double seconds = 0;
        int lane = -1;
    };
    struct Event {
        enum class What { add, call, begin, end, amount, pause, resume, priority };
        double at = 0;
        What what = What::add;
        std::size_t place = 0; // of a stage, a job or a resource
        int value = 0;
        std::vector<std::vector<int>> units = {};
    };
    std::vector<Resource> resources;
    std::vector<JobTraits> jobs;
    std::vector<Stage> stages;
    std::vector<Event> events; // in their order
    bool controlled = true; // else everything begins at once
    bool inTurn = false;    // one job after the other
    // No stage waits longer than for those that were ready before it, or are of a higher priority, and so many of the longest stages: times the number of stages of its job that
    // wait, too, if `eachOfItsJob`. None: not looked at. Only where nothing changes, and of stages that load nothing that lanes load.
    std::optional<double> patience = {};
    bool eachOfItsJob = false;
};

class ScheduleCheck {
public:
    explicit ScheduleCheck(const Observed& seen) : seen_(seen), stages_(seen.stages.size()), paused_(seen.jobs.size()), priorities_(seen.jobs.size()), left_(seen.jobs.size()), begun_(seen.jobs.size()) {
        for (const Resource& resource : seen.resources)
            amounts_[resource.name] = most_[resource.name] = resource.amount;
        for (std::size_t j = 0; j < seen.jobs.size(); ++j)
            priorities_[j] = seen.jobs[j].priority;
        for (std::size_t s = 0; s < seen.stages.size(); ++s) {
            ++left_[seen.stages[s].job];
            for (const std::size_t before : seen.stages[s].after)
                stages_[before].next.push_back(s);
        }
    }

    std::string wrong() { // empty: nothing
        for (const Observed::Event& event : seen_.events) {
            if (event.at < now_)
                return "time goes back";
            now_ = event.at;
            if (std::string what = take(event); !what.empty())
                return what + " at " + std::to_string(now_);
        }
        for (const Times& times : stages_)
            if (times.begin < 0 || times.end < 0)
                return "a stage was lost";
        return seen_.patience ? tooLong() : std::string();
    }

private:
    struct Times {
        double ready = -1, begin = -1, end = -1;
        bool added = false, called = true;
        std::vector<std::size_t> next;
        std::vector<std::vector<int>> units;
    };
    struct Lane {
        std::size_t running = 0, first = 0; // stage
    };
    struct Load {
        int used = 0, alone = 0;
        std::set<int> units;
    };
    using What = Observed::Event::What;

    std::string take(const Observed::Event& event) {
        const std::size_t place = event.place;
        switch (event.what) {
        case What::add:
            stages_[place].added = true;
            stages_[place].called = event.value == 0;
            begun_[seen_.stages[place].job] = true;
            settle(place);
            return {};
        case What::call:
            stages_[place].called = true;
            settle(place);
            return {};
        case What::begin: return begin(place, event.units);
        case What::end: return end(place);
        case What::amount:
            amounts_[seen_.resources[place].name] = event.value;
            return {};
        case What::pause:
        case What::resume: paused_[place] = event.what == What::pause; return {};
        case What::priority: priorities_[place] = event.value; return {};
        }
        return {};
    }

    // Since when a stage could begin.
    void settle(std::size_t place) {
        Times& times = stages_[place];
        const bool ready = times.added && times.called && std::ranges::all_of(seen_.stages[place].after, [&](std::size_t before) { return stages_[before].end >= 0; });
        if (ready && times.ready < 0)
            times.ready = now_;
    }

    std::string begin(std::size_t place, const std::vector<std::vector<int>>& units) {
        const Observed::Stage& stage = seen_.stages[place];
        Times& times = stages_[place];
        if (times.begin >= 0)
            return "a stage began twice";
        if (times.ready < 0)
            return "a stage began before what it comes after";
        if (paused_[stage.job])
            return "a stage of a paused job began";
        if (seen_.inTurn && stage.job != turn())
            return "a stage of job " + std::to_string(stage.job) + " began in the turn of job " + std::to_string(turn());
        times.begin = now_;
        times.units = units;
        if (!seen_.controlled)
            return {};
        if (stage.lane >= 0) {
            Lane& lane = lanes_[{stage.job, stage.lane}];
            if (lane.running++ > 0)
                return units == stages_[lane.first].units ? std::string() : "a lane has two devices";
            lane.first = place;
        }
        return load(stage, units);
    }

    std::string load(const Observed::Stage& stage, const std::vector<std::vector<int>>& units) {
        for (std::size_t i = 0; i < stage.uses.size(); ++i) {
            const ResourceUse& use = stage.uses[i];
            Load &all = loads_[use.resource], &own = ofJobs_[{stage.job, use.resource}];
            if (all.used + use.amount > amounts_.at(use.resource))
                return "more than there is of " + use.resource;
            if (all.alone > 0 || (use.exclusive && all.used > 0))
                return "something is not alone with " + use.resource;
            const auto quota = seen_.jobs[stage.job].most.find(use.resource);
            if (quota != seen_.jobs[stage.job].most.end() && own.used + use.amount > quota->second && !(own.used == 0 && isEstimated(use.resource)))
                return "more than its job may have of " + use.resource;
            all.used += use.amount;
            own.used += use.amount;
            all.alone += use.exclusive ? 1 : 0;
            if (most_.at(use.resource) > 64 || isEstimated(use.resource))
                continue;
            if (static_cast<int>(units.at(i).size()) != use.amount)
                return "a stage got another number of " + use.resource;
            for (const int unit : units[i])
                if (unit < 0 || unit >= most_.at(use.resource) || !all.units.insert(unit).second)
                    return "two stages on one unit of " + use.resource;
        }
        return {};
    }

    std::string end(std::size_t place) {
        const Observed::Stage& stage = seen_.stages[place];
        Times& times = stages_[place];
        if (times.begin < 0 || times.end >= 0)
            return "a stage ended that did not run";
        times.end = now_;
        --left_[stage.job];
        std::ranges::for_each(times.next, [&](std::size_t next) { settle(next); });
        if (!seen_.controlled)
            return {};
        if (std::abs(times.end - times.begin - stage.seconds) > 1e-6)
            return "a stage took another time";
        std::size_t first = place;
        if (stage.lane >= 0) {
            Lane& lane = lanes_[{stage.job, stage.lane}];
            if (--lane.running > 0)
                return {};
            first = lane.first;
        }
        const Observed::Stage& held = seen_.stages[first];
        for (std::size_t i = 0; i < held.uses.size(); ++i) {
            Load& all = loads_[held.uses[i].resource];
            all.used -= held.uses[i].amount;
            all.alone -= held.uses[i].exclusive ? 1 : 0;
            for (const int unit : stages_[first].units.at(i))
                all.units.erase(unit);
            ofJobs_[{stage.job, held.uses[i].resource}].used -= held.uses[i].amount;
        }
        return {};
    }

    // Of those of the highest priority that have begun and are not at their end, the first.
    std::size_t turn() const {
        std::size_t turn = seen_.jobs.size();
        for (std::size_t j = 0; j < seen_.jobs.size(); ++j)
            if (begun_[j] && left_[j] > 0 && !paused_[j] && (turn == seen_.jobs.size() || priorities_[j] > priorities_[turn]))
                turn = j;
        return turn;
    }

    bool isEstimated(const std::string& name) const { return std::ranges::find(seen_.resources, name, &Resource::name)->estimated; }

    std::string tooLong() const {
        double longest = 1; // what is expected where nothing is known
        for (const Observed::Stage& stage : seen_.stages)
            longest = std::max(longest, stage.seconds);
        for (std::size_t s = 0; s < stages_.size(); ++s)
            if (const double most = mostWaiting(s, longest), waited = stages_[s].begin - stages_[s].ready; seen_.stages[s].lane < 0 && waited > most)
                return "a stage waited for " + std::to_string(waited) + " s instead of at most " + std::to_string(most);
        return {};
    }

    // Each of those before it may have to wait for a stage that runs, and for one that began while a quota kept it back.
    double mostWaiting(std::size_t s, double longest) const {
        const Times& own = stages_[s];
        const int priority = seen_.jobs[seen_.stages[s].job].priority;
        double most = 2 * longest;
        std::size_t ofItsJob = 0;
        for (std::size_t t = 0; t < stages_.size(); ++t) {
            const Times& other = stages_[t];
            if (seen_.stages[t].job == seen_.stages[s].job && other.ready < other.begin && other.ready < own.begin && other.begin > own.ready)
                ++ofItsJob;
            const bool before = other.ready <= own.ready && other.end > own.ready;
            const bool higher = seen_.jobs[seen_.stages[t].job].priority > priority && other.ready < own.begin && other.end > own.ready;
            if (t != s && (before || higher))
                most += seen_.stages[t].seconds + 2 * longest;
        }
        return most + *seen_.patience * longest * static_cast<double>(seen_.eachOfItsJob ? std::max<std::size_t>(1, ofItsJob) : 1);
    }

    const Observed& seen_;
    std::vector<Times> stages_;
    std::vector<bool> paused_;
    std::vector<int> priorities_;
    std::vector<std::size_t> left_; // stages of each job
    std::vector<bool> begun_;
    std::map<std::string, int> amounts_, most_;
    std::map<std::string, Load> loads_;
    std::map<std::pair<std::size_t, std::string>, Load> ofJobs_;
    std::map<std::pair<std::size_t, int>, Lane> lanes_;
    double now_ = 0;
};

// A simulation, as one that ran its stages would have seen it.
inline Observed observed(const std::vector<Resource>& resources, const std::vector<SimulatedJob>& jobs, const Simulation& made, bool controlled) {
    using What = Observed::Event::What;
    Observed seen;
    seen.resources = resources;
    seen.controlled = controlled;
    std::vector<std::size_t> firsts; // stages of each job
    std::vector<std::pair<int, Observed::Event>> events; // at one time: what ends, what is added, what takes no time, what begins
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        seen.jobs.push_back(jobs[j].traits);
        firsts.push_back(seen.stages.size());
        for (const SimulatedStage& stage : jobs[j].stages) {
            events.push_back({1, {jobs[j].arrival, What::add, seen.stages.size()}});
            Observed::Stage& one = seen.stages.emplace_back(j, stage.uses, stage.after, stage.seconds);
            for (std::size_t& before : one.after)
                before += firsts[j];
        }
    }
    for (const SimulatedSlice& slice : made.slices) {
        const bool instant = slice.begin == slice.end;
        events.push_back({instant ? 2 : 3, {slice.begin, What::begin, firsts[slice.job] + slice.stage, 0, slice.units}});
        events.push_back({instant ? 2 : 0, {slice.end, What::end, firsts[slice.job] + slice.stage}});
    }
    std::ranges::stable_sort(events, {}, [](const auto& entry) { return std::pair(entry.second.at, entry.first); });
    for (auto& [order, event] : events)
        seen.events.push_back(std::move(event));
    return seen;
}

} // namespace tunesmith
