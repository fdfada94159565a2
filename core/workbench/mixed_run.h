// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/process/worker_client.h"
#include "core/workbench/plan_model.h"

namespace tunesmith {

// Inside core/workbench only: one inference of any model that the reference engine can run. What can be compiled for the
// given inputs runs as compiled kernels in the worker; the rest (control flow, shapes that depend on data) runs with the
// reference kernels, in parts that follow each other. Whatever the inputs and earlier parts say about shapes is used: a
// Resize whose sizes are an input of the model is compiled for the sizes given.
struct MixedRun {
    std::vector<Tensor> outputs;
    double seconds = 0;                   // of computing, without compiling
    std::vector<NodeProblem> byReference; // the nodes that were not compiled, and why
};
Result<MixedRun> runMixed(const Model& model, const std::vector<Tensor>& inputs, const PlanRequest& request,
                          WorkerClient& worker);

} // namespace tunesmith
