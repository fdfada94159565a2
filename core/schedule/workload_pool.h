// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <mutex>

#include "core/schedule/task_share.h"
#include "core/schedule/workload_search.h"

namespace tunesmith {

// The workloads of a run and the budget that they share, for lanes that tune them at the same time. A workload is in one lane at a time, which alone touches its search, so
// that its trail does not depend on the others. From any thread.
class WorkloadPool {
public:
    explicit WorkloadPool(const TuneOptions& options) : options_(options) {}
    static bool isShared(const TuneOptions& options) { return options.totalTrials || options.seconds || options.targetMs; } // the budget, by all workloads

    void add(std::unique_ptr<WorkloadSearch> search);
    // When all were added. `records`: ms of workloads before this run, where there is a goal.
    void begin(std::map<std::string, double> records);
    const std::vector<std::unique_ptr<WorkloadSearch>>& searches() const { return searches_; } // of all lanes

    // The workload that gets the lane's next batch, of at most so many trials; none: nothing is left for this lane. With trials for each workload one after the other; a budget
    // for all of them is shared. Asks for nothing that a measurement in another thread changes.
    struct Next {
        WorkloadSearch* search = nullptr;
        std::size_t most = 0;
    };
    bool hasNext(int lane) const;
    std::optional<Next> takeNext(int lane);
    void proposed(WorkloadSearch& search, bool any); // what came of it
    void delivered(WorkloadSearch& search);
    bool hasFree() const; // workloads that are in no lane and not at their end

    // Of the lane's and those in none: those whose budget is spent end; one that is finished and not done; one that the run's end has left without a final.
    void closeSpent(int lane);
    WorkloadSearch* takeFinished(int lane);
    WorkloadSearch* takeUnsettled(int lane, std::size_t index);
    void leave(int lane); // what it had, others may have

    std::optional<double> knownMs() const; // of the model, by what was found and what was known before; none until all its kernels have a time
    bool isGoalMet() const;

private:
    static constexpr int kNone = -1;
    struct Place { // what lanes know of each other's workloads
        int lane = kNone;
        int underWay = 0; // batches
        std::size_t spent = 0, promised = 0; // trials; promised: the most of a batch that is being proposed
        std::optional<double> deliveredMs;
    };

    std::size_t placeOf(const WorkloadSearch& search) const;
    bool isFor(std::size_t index, int lane) const { return places_[index].lane == kNone || places_[index].lane == lane; }
    bool isOpen(std::size_t index) const { return !searches_[index]->isDone() && searches_[index]->open(); }
    std::optional<std::size_t> pick(int lane) const;
    std::size_t trialsLeft(std::size_t index, bool promised) const;
    std::size_t largestBatch(std::size_t index) const;
    std::optional<double> sumMs() const;
    bool goalMet() const;

    const TuneOptions options_;
    std::vector<std::unique_ptr<WorkloadSearch>> searches_;
    mutable std::mutex mutex_; // guards what follows, and searches that are in no lane
    std::vector<Place> places_;
    TaskShare share_{{}};
    std::map<std::string, double> records_;
};

} // namespace tunesmith
