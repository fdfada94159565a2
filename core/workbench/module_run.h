// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/process/worker_client.h"
#include "core/workbench/plan_model.h"
#include "core/workbench/run_parts.h"

namespace tunesmith {

// Inside core/workbench only.

// A graph for inputs of these very types and shapes. Declared types of what is computed are forgotten: they may speak of
// other extents.
Result<Graph> inferFor(const Graph& declared, const std::vector<Tensor>& inputs);

// One inference of a module that is exported for the inputs at hand and gone afterwards.
Result<Computed> runAsModule(const Model& model, const std::vector<Tensor>& inputs, const PlanRequest& request, WorkerClient& worker);

} // namespace tunesmith
