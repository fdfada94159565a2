// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/jobs/scheduler.h"

namespace tunesmith {

// The scheduler on a virtual clock: what a policy would make of jobs whose stages take known times. All times are seconds from the beginning.

struct SimulatedStage {
    std::string kind;
    std::vector<ResourceUse> uses;
    std::vector<std::size_t> after; // stages of the job before this one, by their places
    double seconds = 0;
};

struct SimulatedJob {
    JobTraits traits;
    std::vector<SimulatedStage> stages;
    double arrival = 0;
    std::size_t known = 0; // of its stages that are not done the scheduler knows only so many, as of a job that plans while it goes; 0: all
};

struct SimulatedSlice {
    std::size_t job = 0, stage = 0;
    double ready = 0, begin = 0, end = 0;
    std::vector<std::vector<int>> units; // use by use, as in StageStart
};

struct Simulation {
    double makespan = 0;
    double bound = 0;       // no schedule is shorter
    double waiting = 0;     // of stages that were ready, summed
    double disturbed = 0;   // of stages while more than there is was wanted of something that they loaded
    double fairness = 1;    // Jain's index of what jobs had for their weights when the first of them was done; 1: all the same
    std::map<std::string, double> utilisation; // of each resource, 0 to 1
    std::vector<SimulatedSlice> slices;        // in the order of their ends
};

// An Error for stages that no scheduler could begin, and when stopped.
Result<Simulation> simulate(const std::vector<Resource>& resources, const std::vector<SimulatedJob>& jobs, const std::string& policy, const StopToken& stop = {});

// The most that a resource has to do, with what must be before and behind, and the longest chain of stages of a job.
double lowerBound(const std::vector<Resource>& resources, const std::vector<SimulatedJob>& jobs);

// A tuning job: batches are built and learned from on "client", and measured on one of the devices. Batch n + inFlight begins when batch n is done.
struct BatchJob {
    std::string name = "job";
    std::size_t batches = 1;
    double build = 1, profile = 1, update = 1;
    int updates = 1, outOf = 1;  // so many of so many batches are learned from
    std::size_t inFlight = 1;
};
SimulatedJob simulatedJob(const BatchJob& job);
std::vector<Resource> batchResources(int devices); // "client", "device"

} // namespace tunesmith
