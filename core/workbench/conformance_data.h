// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace tunesmith {

// STEM_0.pb, STEM_1.pb ... of a data set, as the values of a model that they belong to. ONNX's files hold the
// bits of bfloat16 as uint16; where a value is declared as bfloat16 they are taken for what they are.
Result<std::vector<Tensor>> readCaseData(const std::filesystem::path& set, const std::string& stem,
                                         const Graph& graph, const std::vector<ValueId>& values);

// For each output: whether it depends on an operator that draws random numbers. Such numbers differ from one
// runtime to the next, whatever the seed; only types and shapes can be compared.
std::vector<bool> drawnOutputs(const Graph& graph);

} // namespace tunesmith
