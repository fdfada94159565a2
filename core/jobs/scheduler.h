// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/jobs/stage.h"
#include "core/jobs/stage_times.h"

namespace tunesmith {

// What a scheduler has to know of a job as a whole. Seconds are on the scheduler's clock.
struct JobTraits {
    std::string name;
    int priority = 0;               // the higher goes first, whatever the policy
    double weight = 1;              // its share of what jobs of one priority compete for, as far as the policy gives shares
    std::optional<double> deadline = {}; // by when it should be done, on the scheduler's clock
    std::map<std::string, int> most = {}; // quotas: so much of a resource at a time, all of its stages together
};

// A stage without what it does.
struct StagePlan {
    std::string kind; // "build": stages of one kind of a job take about as long
    std::vector<ResourceUse> uses;
    std::vector<StageId> after; // stages of the same job
    bool called = false;        // begins only once it is called for, as its job is elsewhere until then
    // Stages of a job in one lane share what they load: while one of them runs, another one needs no room of its own. So a device on which the next batch is built while
    // one is measured counts once. None: -1.
    int lane = -1;
};

// A stage that begins. Which units of its resources it got, use by use: cores to be pinned to, devices; none of resources that have more than 64.
struct StageStart {
    StageId stage;
    std::vector<std::vector<int>> units;
    bool shares = false; // those of a stage of its lane
};

class SchedulingPolicy;

// Decides which stages of many jobs begin when, and on which units of their resources. It knows neither threads nor a clock: who runs stages says
// when they end and asks what begins then, be it in real time or on the virtual clock of a simulation.
//
// A stage is ready when the stages before it are done. The policy puts ready stages in order; in that order each begins for which there is room. What one
// has to wait for is held for it against later ones, so a stage that needs a resource for itself is never starved by small ones.
// For one thread at a time.
class Scheduler {
public:
    Scheduler(std::vector<Resource> resources, std::unique_ptr<SchedulingPolicy> policy);
    ~Scheduler();

    JobId addJob(JobTraits traits);
    // Refuses resources that there are not, amounts that there never are, and stages of other jobs.
    Result<StageId> addStage(JobId job, StagePlan plan, double now);
    // From now on there is so much of a resource, which may be new. Where more is in use, stages run on, and nothing begins until there is room.
    void setAmount(const std::string& resource, int amount);
    // How many stages of a kind will be added from now on, so that policies can look ahead; instead of what was said before.
    void announce(JobId job, const std::string& kind, std::int64_t stages);

    // What a stage that has not become ready loads is other than was thought when it was added. Errors as of addStage().
    Status revise(StageId stage, std::vector<ResourceUse> uses);
    void call(StageId stage, double now);
    std::vector<StageStart> start(double now); // those that begin now
    void finish(StageId stage, double now);
    void skip(StageId stage, double now); // never begins; those after it need not wait for it
    void end(JobId job, double now);      // nothing more is added; what has not begun never does

    void setPriority(JobId job, int priority);
    void setPaused(JobId job, bool paused, double now); // begins nothing more for the time being

    enum class State { waiting, ready, running, done, skipped };
    struct Entry {
        JobId job;
        StagePlan plan;
        State state = State::waiting;
        double since = 0; // ready, then running
        std::size_t open = 0; // stages before it that are not done, and the call that it waits for
        std::vector<StageId> next;
        std::vector<std::vector<int>> units;
        bool shares = false; // the units of a stage of its lane
    };
    struct Job {
        JobTraits traits;
        bool paused = false;
        bool begun = false, ended = false;             // with its first stage; by end()
        double headStart = 0;                          // seconds that it is taken to have been served when it began; see levelOf()
        std::size_t unfinished = 0;                    // stages
        std::map<std::string, std::int64_t> ahead;     // announced of each kind, and not yet added
        std::map<std::string, std::int64_t> open;      // of each kind, not done: added or announced
        std::map<std::string, double> loaded;          // seconds of each resource, as shares of all of it
    };

    // For policies.
    const Entry& entry(StageId stage) const { return entries_[stage.index()]; }
    const Job& job(JobId job) const { return jobs_[job.index()]; }
    const std::vector<Job>& jobs() const { return jobs_; }
    const std::vector<Resource>& resources() const { return resources_; }
    const Resource& resource(const std::string& name) const { return resources_[places_.at(name)]; }
    double expected(StageId stage) const { return times_.expected(entry(stage).job, entry(stage).plan.kind); } // seconds
    const StageTimes& times() const { return times_; }
    double serviceOf(JobId job, double now) const; // seconds of the resource that it loaded most, with what runs
    // The same by its weight, from where the least served of the others was when it began, or went on after a pause: what they had before is no claim of it.
    double levelOf(JobId job, double now) const { return (this->job(job).headStart + serviceOf(job, now)) / this->job(job).traits.weight; }
    double shareOf(const ResourceUse& use) const { return use.exclusive ? 1.0 : static_cast<double>(use.amount) / std::max(1, resource(use.resource).amount); }
    const std::vector<StageId>& ready() const { return ready_; } // in the order in which they became so
    const std::vector<StageId>& running() const { return running_; }

private:
    struct Load {
        int used = 0;
        bool held = false; // by an exclusive stage
        std::vector<bool> busy; // units
    };

    struct Lane { // of a job, while a stage in it runs
        int running = 0;
        std::vector<ResourceUse> uses; // of the first one
        std::vector<std::vector<int>> units;
    };

    Status check(JobId job, const StagePlan& plan) const;
    void limitEstimates(std::vector<ResourceUse>& uses) const;
    void join(JobId job, double now);
    bool withinQuota(const Entry& entry, const std::vector<StageId>& before) const;
    void makeReady(StageId stage, double now);
    void release(const std::vector<StageId>& next, double now);
    bool sharesLane(const Entry& entry) const;
    bool fits(const StagePlan& plan, const std::vector<Load>& loads) const;
    void reserve(const StagePlan& plan, std::vector<Load>& loads) const;
    void begin(Entry& entry);
    std::vector<std::vector<int>> take(const std::vector<ResourceUse>& uses);
    void release(const Entry& entry);
    void release(const std::vector<ResourceUse>& uses, const std::vector<std::vector<int>>& units);

    std::vector<Resource> resources_;
    std::map<std::string, std::size_t> places_;
    std::unique_ptr<SchedulingPolicy> policy_;
    std::vector<Load> loads_;
    std::map<std::pair<JobId, int>, Lane> lanes_;
    std::vector<Job> jobs_;
    std::vector<Entry> entries_;
    std::vector<StageId> ready_, running_;
    StageTimes times_;
};

} // namespace tunesmith
