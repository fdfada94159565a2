// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <functional>

#include "core/jobs/outlook.h"
#include "core/jobs/scheduler.h"
#include "core/jobs/scheduling_policy.h"

namespace tunesmith {
namespace {

using Stages = std::vector<StageId>;

// One job after the other: of the highest priority that has something left, the one that was added first.
class Sequential : public SchedulingPolicy {
public:
    void order(const Scheduler& scheduler, Stages& ready, double) const override {
        JobId turn;
        for (std::size_t i = 0; i < scheduler.jobs().size(); ++i) {
            const JobId id(static_cast<std::int64_t>(i));
            const Scheduler::Job& job = scheduler.job(id);
            if (job.unfinished > 0 && !job.paused && (!turn.valid() || job.traits.priority > scheduler.job(turn).traits.priority))
                turn = id;
        }
        std::erase_if(ready, [&](StageId stage) { return scheduler.entry(stage).job != turn; });
    }
};

// Whatever is ready, at once: what happens where nobody schedules. A warning, not a choice.
class Shared : public SchedulingPolicy {
public:
    void order(const Scheduler&, Stages&, double) const override {}
    bool controlsLoad() const override { return false; }
};

// First come, first served.
class Greedy : public SchedulingPolicy {
public:
    void order(const Scheduler&, Stages&, double) const override {} // ready stages come in that order
};

// Who had least of what it loads most, by weight (dominant resources: Ghodsi et al., NSDI'11).
class Fair : public SchedulingPolicy {
public:
    void order(const Scheduler& scheduler, Stages& ready, double now) const override {
        std::vector<double> had; // by job
        for (std::size_t i = 0; i < scheduler.jobs().size(); ++i)
            had.push_back(scheduler.serviceOf(JobId(static_cast<std::int64_t>(i)), now) / scheduler.jobs()[i].traits.weight);
        std::ranges::stable_sort(ready, {}, [&](StageId stage) { return had[scheduler.entry(stage).job.index()]; });
    }
};

// Keeps busy what bounds the whole (outlook.h): of what loads that, first who is then away from it the longest; of the rest, who comes back to it
// first; then who has most left to do. Late jobs come before all others, and nobody waits for ever.
class Predictive : public SchedulingPolicy {
public:
    void order(const Scheduler& scheduler, Stages& ready, double now) const override {
        if (ready.size() < 2)
            return;
        const Outlook outlook(scheduler, now);
        std::vector<std::pair<Urgency, StageId>> ranked;
        for (const StageId stage : ready)
            ranked.emplace_back(urgency(scheduler, outlook, stage, now), stage);
        std::ranges::stable_sort(ranked, {}, &std::pair<Urgency, StageId>::first);
        std::ranges::transform(ranked, ready.begin(), &std::pair<Urgency, StageId>::second);
    }

private:
    using Urgency = std::array<double, 3>; // less goes first

    static Urgency urgency(const Scheduler& scheduler, const Outlook& outlook, StageId stage, double now) {
        constexpr double kPatience = 20; // stages as long as the longest kind
        const Scheduler::Entry& entry = scheduler.entry(stage);
        const Scheduler::Job& job = scheduler.job(entry.job);
        const double waited = now - entry.since;
        if (waited > kPatience * outlook.longestKind())
            return {-2, -waited, 0};
        const bool late = job.traits.deadline && now + outlook.remaining(entry.job) > *job.traits.deadline;
        const double slack = outlook.slack(stage);
        return {late ? -1.0 : 0.0, slack < 0 ? 0.0 : 1.0, entry.since};
    }
};

struct Row {
    PolicyInfo info;
    std::function<std::unique_ptr<SchedulingPolicy>()> make;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> all{
        {{"sequential", "one job after the other"}, [] { return std::make_unique<Sequential>(); }},
        {{"shared", "everything at once, whatever is there: as if nobody scheduled"}, [] { return std::make_unique<Shared>(); }},
        {{"greedy", "first come, first served"}, [] { return std::make_unique<Greedy>(); }},
        {{"fair", "who had least, by weight"}, [] { return std::make_unique<Fair>(); }},
        {{"predictive", "by learned stage times: keeps busy what bounds the whole"}, [] { return std::make_unique<Predictive>(); }},
    };
    return all;
}

} // namespace

std::vector<PolicyInfo> schedulingPolicies() {
    std::vector<PolicyInfo> infos;
    std::ranges::transform(rows(), std::back_inserter(infos), &Row::info);
    return infos;
}

Result<std::unique_ptr<SchedulingPolicy>> makePolicy(const std::string& name) {
    std::string known;
    for (const Row& row : rows()) {
        if (row.info.name == name)
            return row.make();
        known += (known.empty() ? "" : ", ") + row.info.name;
    }
    return inputError("there is no policy '" + name + "'; there are " + known);
}

} // namespace tunesmith
