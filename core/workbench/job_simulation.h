// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/workbench/work.h"

namespace tunesmith {

// What a policy of the scheduler would make of tuning jobs that share one client, which builds and learns, and some devices.
struct JobSimulationRequest {
    std::string policy = "predictive"; // of jobPolicies()
    int jobs = 2, devices = 1;
    std::int64_t batches = 600; // of each job
    double build = 8.3, profile = 39.5, update = 1; // seconds of a batch
    int updates = 1, outOf = 1;                     // so many of so many batches are learned from
    int inFlight = 2;                               // batches of a job
    double spread = 0;                              // stages take up to such a share more or less than that, at random
    std::uint64_t seed = 1;
};

struct JobSimulation {
    std::string policy;
    double makespan = 0, bound = 0; // seconds; no schedule is shorter than the bound
    double waiting = 0;             // seconds in which stages were ready and had not begun, summed
    double disturbed = 0;           // seconds of stages that had to share
    double fairness = 1;            // Jain's index of what jobs had for their weights when the first was done
    std::map<std::string, double> utilisation; // of each resource, 0 to 1
};

struct JobPolicy {
    std::string name, text;
};
std::vector<JobPolicy> jobPolicies();

// Errors name the figure that makes no sense.
Result<JobSimulation> simulateJobs(const JobSimulationRequest& request, const Work& work = {});

} // namespace tunesmith
