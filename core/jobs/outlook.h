// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/jobs/scheduler.h"

namespace tunesmith {

// What lies before the jobs of a scheduler, by the times that its stages took so far. Seconds.
class Outlook {
public:
    Outlook(const Scheduler& scheduler, double now);

    double remaining(JobId job) const { return remaining_[job.index()]; } // of its stages, one after the other
    double longestKind() const { return longestKind_; }
    // How soon what comes after a stage has nothing to do, if the stage does not begin now but after another one that is ready and loads the same: less than 0
    // where that is too late. Infinite where nothing comes after it, or that waits for other stages, too.
    double slack(StageId stage) const;
    // How soon something that the stage loads has nothing to do, if instead of it one begins that is ready, too, and loads something of the same, but not that: less than 0 where
    // it would lie idle. Infinite where there is no such stage.
    double gap(StageId stage) const;

private:
    struct Group { // of ready stages that load the same
        std::vector<std::string> resources;
        double longest = 0; // seconds
    };
    struct Longest {
        StageId stage;
        double first = 0, second = 0; // seconds of that stage, and of the longest other one
    };

    void countRemaining();
    void countBacklogs(double now);
    void countGroup(StageId stage, double seconds);
    bool counts(const ResourceUse& use) const; // memory that nobody uses is no loss
    bool loads(StageId stage, const std::string& resource) const;
    double longestRival(StageId stage) const;

    const Scheduler& scheduler_;
    std::vector<double> remaining_;          // by job
    std::map<std::string, double> busy_, backlogs_; // of what runs; of what runs and is ready; by resource
    std::vector<Group> groups_;
    std::map<std::string, Longest> longest_; // of what is ready, by resource
    double longestKind_ = 0;
};

} // namespace tunesmith
