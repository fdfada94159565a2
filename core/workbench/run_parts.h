// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/module/module_info.h"
#include "core/workbench/run.h"

namespace tunesmith {

// Inside core/workbench only: the halves of a run, for those that do something between them.
struct Computed {
    std::vector<Tensor> outputs;
    double seconds = 0;
    std::vector<NodeProblem> byReference = {};
    std::string foreign = {}; // as in RunResult
};

// Compares the number, types, ranks and known extents of a worker's outputs with module.json, for foreign code may answer anything.
Status checkOutputs(const ModuleInfo& module, const std::vector<Tensor>& outputs);
Result<Computed> computeModule(const std::filesystem::path& folder, std::vector<Tensor> inputs, const RunRequest& request);
// Saves the outputs where the request has a folder: all of them or none.
Result<RunResult> collectOutputs(Computed computed, const std::vector<std::string>& names, const RunRequest& request);

} // namespace tunesmith
