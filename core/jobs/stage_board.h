// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/base/stop_token.h"
#include "core/jobs/scheduler.h"

namespace tunesmith {

// What became of a stage, for the timeline. Seconds since the board was made.
struct TimedStage {
    JobId job;
    StageId stage;
    std::string kind;
    std::vector<ResourceUse> uses;
    std::vector<std::vector<int>> units; // use by use, as in StageStart
    double called = 0, begin = 0, end = 0;
    double expected = 0; // how long it was thought to take when it began
    bool shares = false; // it loaded what a stage of its lane had
};

// The scheduler in real time, for jobs that run on threads of their own: who has planned a stage asks for its turn and waits. From any thread.
class StageBoard {
public:
    StageBoard(std::vector<Resource> resources, std::unique_ptr<SchedulingPolicy> policy);

    // A stage that is running; it ends when this does.
    class Turn {
    public:
        Turn(Turn&& other) noexcept : board_(std::exchange(other.board_, nullptr)), stage_(other.stage_), units_(std::move(other.units_)) {}
        Turn& operator=(Turn&&) = delete;
        ~Turn();
        const std::vector<std::vector<int>>& units() const { return units_; }

    private:
        friend class StageBoard;
        Turn(StageBoard& board, StageId stage, std::vector<std::vector<int>> units) : board_(&board), stage_(stage), units_(std::move(units)) {}
        StageBoard* board_;
        StageId stage_;
        std::vector<std::vector<int>> units_;
    };

    JobId addJob(JobTraits traits);
    void announce(JobId job, const std::string& kind, std::int64_t stages);
    Result<StageId> plan(JobId job, StagePlan plan); // Errors as of Scheduler::addStage()
    Status revise(StageId stage, std::vector<ResourceUse> uses); // before it is asked for; likewise
    // Waits for the stage's turn. A stop is a cancelled Error, and the stage is no longer planned.
    Result<Turn> begin(StageId stage, const StopToken& stop);
    void drop(StageId stage); // will not be asked for
    std::size_t planned(JobId job) const; // its stages that have neither ended nor been dropped
    void setAmount(const std::string& resource, int amount); // as of Scheduler::setAmount()
    std::vector<Resource> resources() const; // with the most that there has been of each

    void setPriority(JobId job, int priority);
    void setPaused(JobId job, bool paused);
    void end(JobId job); // drops all that it has planned

    std::vector<TimedStage> timeline(std::size_t from = 0) const; // stages that have ended, in that order, but for so many
    std::vector<TimedStage> running() const; // they have no end yet
    std::vector<TimedStage> waiting() const; // called for, and it was not their turn yet: they have no units, begin and end
    double seconds() const { return now(); }  // since the board was made

private:
    double now() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }
    void startStages();
    void finish(StageId stage);

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Scheduler scheduler_; // guarded by mutex_, as all below
    std::map<std::string, int> most_; // of resources whose amounts change
    std::map<StageId, TimedStage> running_, called_;
    std::vector<TimedStage> timeline_;
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

} // namespace tunesmith
