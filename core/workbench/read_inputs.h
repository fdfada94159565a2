// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/graph/graph.h"
#include "core/module/module_info.h"
#include "core/workbench/inputs.h"

namespace tunesmith {

// Inside core/workbench only.
struct WantedInput {
    std::string name;
    TensorType type;
    std::int64_t bound = 1; // integers are drawn below it
    Tensor fallback = {};   // where none is given; absent: it is drawn
};

Result<Tensor> readInput(const WantedInput& wanted, const std::filesystem::path& file);
std::vector<WantedInput> wantedInputs(const Graph& graph);
std::vector<WantedInput> wantedInputs(const ModuleInfo& module);
Result<std::vector<Tensor>> readInputs(const std::vector<WantedInput>& wanted, const InputChoice& choice);

} // namespace tunesmith
