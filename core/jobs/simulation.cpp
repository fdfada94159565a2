// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/jobs/simulation.h"

#include <algorithm>
#include <limits>

#include "core/jobs/scheduling_policy.h"

namespace tunesmith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Simulator {
public:
    Simulator(const std::vector<Resource>& resources, const std::vector<SimulatedJob>& jobs, std::unique_ptr<SchedulingPolicy> policy)
        : jobs_(jobs), resources_(resources), controlled_(policy->controlsLoad()), scheduler_(resources, std::move(policy)), progress_(jobs.size()) {
        for (const SimulatedJob& job : jobs) {
            const JobId id = scheduler_.addJob(job.traits);
            std::map<std::string, std::int64_t> stages; // of each kind
            for (const SimulatedStage& stage : job.stages)
                ++stages[stage.kind];
            for (const auto& [kind, count] : stages)
                scheduler_.announce(id, kind, count);
            if (job.stages.empty())
                firstDone_ = 0;
        }
        result_.bound = lowerBound(resources, jobs);
    }

    Result<Simulation> run(const StopToken& stop) {
        while (true) {
            if (stop.stopRequested())
                return cancelledError();
            TS_TRY(addStages());
            begin();
            const double next = std::min(nextEnd(), nextArrival());
            if (next == kInfinity)
                break;
            advance(next);
        }
        result_.makespan = now_;
        finish();
        return std::move(result_);
    }

private:
    struct Running {
        StageId stage;
        double left = 0, speed = 1; // seconds of undisturbed work
        std::size_t slice = 0;
    };
    struct Place {
        std::size_t job = 0, stage = 0;
    };
    struct JobProgress {
        std::size_t added = 0, done = 0;
        std::vector<StageId> ids;
    };

    Status addStages() {
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            const SimulatedJob& job = jobs_[j];
            JobProgress& progress = progress_[j];
            while (job.arrival <= now_ && progress.added < job.stages.size() && (job.known == 0 || progress.added < progress.done + job.known))
                TS_TRY(addStage(j, progress));
        }
        return {};
    }

    Status addStage(std::size_t j, JobProgress& progress) {
        const SimulatedStage& stage = jobs_[j].stages[progress.added];
        StagePlan plan{stage.kind, stage.uses, {}};
        for (const std::size_t before : stage.after)
            plan.after.push_back(progress.ids[before]);
        TS_ASSIGN(const StageId id, scheduler_.addStage(JobId(static_cast<std::int64_t>(j)), std::move(plan), now_));
        progress.ids.push_back(id);
        places_.push_back({j, progress.added++});
        return {};
    }

    void begin() {
        for (const StageStart& start : scheduler_.start(now_)) {
            const Place place = places_[start.stage.index()];
            running_.push_back({start.stage, jobs_[place.job].stages[place.stage].seconds, 1, result_.slices.size()});
            result_.slices.push_back({place.job, place.stage, readyAt(place), now_, 0, start.units});
        }
        if (!controlled_)
            setSpeeds();
    }

    double readyAt(const Place& place) const {
        double ready = jobs_[place.job].arrival;
        for (const std::size_t before : jobs_[place.job].stages[place.stage].after)
            ready = std::max(ready, ends_.at({place.job, before}));
        return ready;
    }

    const std::vector<ResourceUse>& usesOf(const Running& running) const {
        const Place place = places_[running.stage.index()];
        return jobs_[place.job].stages[place.stage].uses;
    }

    // Who is too many shares what there is.
    void setSpeeds() {
        std::map<std::string, double> used;
        for (const Running& running : running_)
            for (const ResourceUse& use : usesOf(running))
                used[use.resource] += use.exclusive ? scheduler_.resource(use.resource).amount : use.amount;
        for (Running& running : running_) {
            running.speed = 1;
            for (const ResourceUse& use : usesOf(running))
                running.speed = std::min(running.speed, scheduler_.resource(use.resource).amount / used.at(use.resource));
        }
    }

    double nextEnd() const {
        double next = kInfinity;
        for (const Running& running : running_)
            next = std::min(next, now_ + running.left / running.speed);
        return next;
    }

    double nextArrival() const {
        double next = kInfinity;
        for (const SimulatedJob& job : jobs_)
            if (job.arrival > now_ && !job.stages.empty())
                next = std::min(next, job.arrival);
        return next;
    }

    void advance(double to) {
        for (const Running& running : running_)
            result_.disturbed += running.speed < 1 ? to - now_ : 0;
        const double least = 1e-12 * std::max(to, 1.0);
        for (Running& running : running_)
            running.left -= (to - now_) * running.speed;
        now_ = to;
        for (const Running& running : running_)
            if (running.left <= least)
                end(running);
        std::erase_if(running_, [&](const Running& running) { return running.left <= least; });
    }

    void end(const Running& running) {
        const Place place = places_[running.stage.index()];
        SimulatedSlice& slice = result_.slices[running.slice];
        slice.end = now_;
        result_.waiting += slice.begin - slice.ready;
        ends_[{place.job, place.stage}] = now_;
        scheduler_.finish(running.stage, now_);
        JobProgress& progress = progress_[place.job];
        if (++progress.done < jobs_[place.job].stages.size())
            return;
        scheduler_.end(scheduler_.entry(running.stage).job, now_);
        if (firstDone_ == kInfinity) {
            firstDone_ = now_;
            result_.fairness = fairnessNow();
        }
    }

    double fairnessNow() const {
        double sum = 0, squares = 0, count = 0;
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            if (jobs_[j].arrival > now_)
                continue;
            const double had = scheduler_.serviceOf(JobId(static_cast<std::int64_t>(j)), now_) / jobs_[j].traits.weight;
            sum += had;
            squares += had * had;
            ++count;
        }
        return squares > 0 ? sum * sum / (count * squares) : 1;
    }

    void finish() {
        for (const Resource& resource : resources_)
            result_.utilisation[resource.name] = 0;
        for (const SimulatedJob& job : jobs_)
            for (const SimulatedStage& stage : job.stages)
                for (const ResourceUse& use : stage.uses)
                    result_.utilisation[use.resource] += now_ > 0 ? stage.seconds * scheduler_.shareOf(use) / now_ : 0;
        std::ranges::stable_sort(result_.slices, {}, &SimulatedSlice::end);
    }

    const std::vector<SimulatedJob>& jobs_;
    const std::vector<Resource>& resources_;
    bool controlled_;
    Scheduler scheduler_;
    std::vector<JobProgress> progress_;
    std::vector<Place> places_; // by stage
    std::vector<Running> running_;
    std::map<std::pair<std::size_t, std::size_t>, double> ends_;
    double now_ = 0, firstDone_ = kInfinity;
    Simulation result_;
};

} // namespace

Result<Simulation> simulate(const std::vector<Resource>& resources, const std::vector<SimulatedJob>& jobs, const std::string& policy, const StopToken& stop) {
    TS_ASSIGN(auto made, makePolicy(policy));
    for (const SimulatedJob& job : jobs)
        for (std::size_t s = 0; s < job.stages.size(); ++s)
            if (std::ranges::any_of(job.stages[s].after, [&](std::size_t before) { return before >= s; }))
                return inputError("stage " + std::to_string(s) + " of job '" + job.traits.name + "' waits for itself or a later one");
    return Simulator(resources, jobs, std::move(made)).run(stop);
}

double lowerBound(const std::vector<Resource>& resources, const std::vector<SimulatedJob>& jobs) {
    struct Span {
        double load = 0, before = kInfinity, behind = kInfinity;
    };
    std::map<std::string, Span> spans;
    std::map<std::string, int> amounts;
    for (const Resource& resource : resources)
        amounts[resource.name] = resource.amount;
    double bound = 0;
    for (const SimulatedJob& job : jobs) {
        std::vector<double> heads(job.stages.size(), job.arrival), tails(job.stages.size(), 0);
        for (std::size_t s = 0; s < job.stages.size(); ++s)
            for (const std::size_t before : job.stages[s].after)
                heads[s] = std::max(heads[s], heads[before] + job.stages[before].seconds);
        for (std::size_t s = job.stages.size(); s-- > 0;) {
            for (const std::size_t before : job.stages[s].after)
                tails[before] = std::max(tails[before], tails[s] + job.stages[s].seconds);
            bound = std::max(bound, heads[s] + job.stages[s].seconds + tails[s]);
            for (const ResourceUse& use : job.stages[s].uses) {
                Span& span = spans[use.resource];
                span.load += job.stages[s].seconds * (use.exclusive ? 1.0 : static_cast<double>(use.amount) / amounts[use.resource]);
                span.before = std::min(span.before, heads[s]);
                span.behind = std::min(span.behind, tails[s]);
            }
        }
    }
    for (const auto& [resource, span] : spans)
        bound = std::max(bound, span.before + span.load + span.behind);
    return bound;
}

SimulatedJob simulatedJob(const BatchJob& job) {
    SimulatedJob made;
    made.traits.name = job.name;
    std::vector<std::size_t> last; // stage of each batch
    std::vector<std::size_t> before; // the update before
    for (std::size_t batch = 0; batch < job.batches; ++batch) {
        const std::size_t first = made.stages.size();
        std::vector<std::size_t> after;
        if (batch >= job.inFlight)
            after = {last[batch - job.inFlight]};
        made.stages.push_back({"build", {{"client"}}, after, job.build});
        made.stages.push_back({"profile", {{"device"}}, {first}, job.profile});
        if (static_cast<int>(batch % static_cast<std::size_t>(job.outOf)) < job.updates) {
            std::vector<std::size_t> inTurn = before;
            inTurn.push_back(first + 1);
            before = {made.stages.size()};
            made.stages.push_back({"update", {{"client"}}, inTurn, job.update});
        }
        last.push_back(made.stages.size() - 1);
    }
    made.known = 6 * job.inFlight;
    return made;
}

std::vector<Resource> batchResources(int devices) { return {{"client", 1}, {"device", devices}}; }

} // namespace tunesmith
