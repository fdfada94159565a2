// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/graph/graph.h"
#include "core/module/module_info.h"
#include "core/ops/index_inputs.h"
#include "core/workbench/inputs.h"

namespace tunesmith {

// Inside core/workbench only.
struct WantedInput {
    std::string name;
    TensorType type;
    IndexRange bounds = {0, 0}; // within which integers are drawn
    Tensor fallback = {};       // where none is given; absent: it is drawn
};

// Bounds as module.json and family.json have them: n for 0 to n - 1, else [least, most]. Others are read as those of 0 alone.
nlohmann::json boundsToJson(const IndexRange& bounds);
IndexRange boundsFromJson(const nlohmann::json& stated);

Result<Tensor> readInput(const WantedInput& wanted, const std::filesystem::path& file);
std::vector<WantedInput> wantedInputs(const Graph& graph);
std::vector<WantedInput> wantedInputs(const ModuleInfo& module);
Status checkInputNames(const std::vector<WantedInput>& wanted, const InputChoice& choice); // an Error names the inputs
Result<std::vector<Tensor>> readInputs(const std::vector<WantedInput>& wanted, const InputChoice& choice);

} // namespace tunesmith
