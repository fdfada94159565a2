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

// One job after the other: of those of the highest priority that have begun and not ended, the one that was added first, also while none of its stages is ready.
class Sequential : public SchedulingPolicy {
public:
    void order(const Scheduler& scheduler, Stages& ready, double) const override {
        JobId turn;
        for (std::size_t i = 0; i < scheduler.jobs().size(); ++i) {
            const JobId id(static_cast<std::int64_t>(i));
            const Scheduler::Job& job = scheduler.job(id);
            if (job.begun && !job.ended && !job.paused && (!turn.valid() || job.traits.priority > scheduler.job(turn).traits.priority))
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

constexpr double kPatience = 20; // stages as long as the longest kind

// Less goes first; of what is the same, what became ready first.
template <std::size_t Size> using Urgency = std::array<double, Size>;
template <class UrgencyOf> void sortBy(Stages& ready, UrgencyOf urgencyOf) {
    std::vector<std::pair<decltype(urgencyOf(StageId())), StageId>> ranked;
    for (const StageId stage : ready)
        ranked.emplace_back(urgencyOf(stage), stage);
    std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
    std::ranges::transform(ranked, ready.begin(), [](const auto& entry) { return entry.second; });
}

// Who had least of what it loads most, by weight (dominant resources: Ghodsi et al., NSDI'11). A job that has much of one thing still gets its turn at another one, by patience,
// which is the longer the more of its own stages wait.
class Fair : public SchedulingPolicy {
public:
    void order(const Scheduler& scheduler, Stages& ready, double now) const override {
        if (ready.size() < 2)
            return;
        std::vector<double> levels; // by job
        for (std::size_t i = 0; i < scheduler.jobs().size(); ++i)
            levels.push_back(scheduler.levelOf(JobId(static_cast<std::int64_t>(i)), now));
        std::vector<double> waiting(levels.size());
        for (const StageId stage : ready)
            ++waiting[scheduler.entry(stage).job.index()];
        const double patience = kPatience * Outlook(scheduler, now).longestKind();
        sortBy(ready, [&](StageId stage) -> Urgency<2> {
            const Scheduler::Entry& entry = scheduler.entry(stage);
            const double waited = now - entry.since;
            return waited > patience * waiting[entry.job.index()] ? Urgency<2>{0, -waited} : Urgency<2>{1, levels[entry.job.index()]};
        });
    }
};

// Keeps busy what bounds the whole (outlook.h): first go stages that load what would lie idle otherwise, then those after which something comes that would, then the rest; of each,
// who waited longest, the time of a job of weight 2 counting twice. Late jobs come before all others, and nobody waits for ever.
class Predictive : public SchedulingPolicy {
public:
    void order(const Scheduler& scheduler, Stages& ready, double now) const override {
        if (ready.size() < 2)
            return;
        const Outlook outlook(scheduler, now);
        sortBy(ready, [&](StageId stage) { return urgency(scheduler, outlook, stage, now); });
    }

private:
    static Urgency<3> urgency(const Scheduler& scheduler, const Outlook& outlook, StageId stage, double now) {
        const Scheduler::Entry& entry = scheduler.entry(stage);
        const Scheduler::Job& job = scheduler.job(entry.job);
        const double waited = now - entry.since;
        if (waited > kPatience * outlook.longestKind())
            return {-2, -waited, 0};
        const bool late = job.traits.deadline && now + outlook.remaining(entry.job) > *job.traits.deadline;
        return {late ? -1.0 : 0.0, outlook.gap(stage) < 0 ? 0.0 : outlook.slack(stage) < 0 ? 1.0 : 2.0, -waited * job.traits.weight};
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
        {{"fair", "who had least, by weight, since it came"}, [] { return std::make_unique<Fair>(); }},
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
