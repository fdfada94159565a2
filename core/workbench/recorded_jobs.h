// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/jobs/simulation.h"
#include "core/workbench/job_timeline.h"

namespace tunesmith {

struct TimedStage;

// Inside core/workbench only: stages that were run, as what a simulation can run again.

struct RecordedStage {
    std::size_t job = 0;
    std::string kind;
    std::vector<ResourceUse> uses;
    std::string device; // the unit of a device that it loaded, which stages of one lane load together; empty: none
    double called = 0, begin = 0, end = 0;
};
RecordedStage recordedStage(const TimedStage& stage);
RecordedStage recordedStage(const JobSlice& slice); // what it loaded that has no units is not known

// Jobs without traits. A stage comes after all of its job that had ended when it was called for; one on a device only after those that were on this one, or on none. While it shared the device with
// another one of its lane, it loads nothing.
std::vector<SimulatedJob> recordedJobs(std::vector<RecordedStage> stages, std::size_t jobs);

// The shares of each resource's time until then that the stages loaded.
std::map<std::string, double> recordedUtilisation(const std::vector<SimulatedJob>& jobs, const std::vector<Resource>& resources, double makespan);

} // namespace tunesmith
