// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
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

// The same of a session of the store (job_sessions.h): its stages take as long as they took, load the units that they loaded and keep the order that they had within their job; all jobs are there
// from the beginning. Memory and network are not stored, so nothing waits for them.
struct SessionSimulationRequest {
    std::string store; // empty: the default one
    std::int64_t session = 0;
    std::vector<std::string> policies = {"predictive"};
    std::optional<int> devices = {}; // so many of each key instead of those that there were
};

struct RecordedSession { // as it was
    std::int64_t id = 0;
    std::string policy;
    bool killed = false; // its program was, before the jobs had ended
    std::size_t jobs = 0, stages = 0;
    double makespan = 0; // seconds, until the last stage ended
    double waiting = 0;  // in which stages waited for their turns, summed
    std::map<std::string, double> utilisation;
};

struct SessionSimulation {
    RecordedSession was;
    std::vector<JobSimulation> made; // by policy
};

// Errors: there is no such session, it still runs, it ran no stage, or its rows are damaged.
Result<SessionSimulation> simulateSession(const SessionSimulationRequest& request, const Work& work = {});

} // namespace tunesmith
