// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/process/worker_client.h"
#include "core/workbench/plan_model.h"

namespace tunesmith {

// Inside core/workbench only. Every step of a module on the values that the reference has there, one by one: a wrong kernel is
// seen before later layers hide what it did, or make much of it; and where all are right, what the whole differs by is the
// model's own doing.
struct StepFindings {
    std::size_t judged = 0;
    double largest = 0;    // difference of one step's results, to their scale
    double unexplained = 0; // the same of those that no rounding explains; 0: every step is right
    std::string wrong;     // of the first of those: which step, and how it differs
};

// Of a module with probes (module/export.h) that was exported from the plan to `folder`.
Result<StepFindings> checkSteps(const PlannedModel& planned, const std::filesystem::path& folder, const std::vector<Tensor>& inputs,
                                WorkerClient& worker, const Work& work);

// Whether the steps fit together, whatever they compute: each finds in memory what another left there for it. A sentence says
// where not; empty: everywhere.
Result<std::string> checkWiring(const PlannedModel& planned, const std::filesystem::path& folder, const std::vector<Tensor>& inputs,
                                WorkerClient& worker, const StopToken& stop);

} // namespace tunesmith
