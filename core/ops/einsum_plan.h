// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor_type.h"

namespace tunesmith::ops {

// An equation of Einsum over given shapes. Every dimension that takes part is a label: those of the ellipsis come
// first, then the letters in the order of their appearance.
struct EinsumPlan {
    std::vector<std::vector<std::size_t>> terms; // per input: the label of each dimension; twice the same is a diagonal
    std::vector<std::size_t> output;             // labels of the result, each at most once
    std::vector<std::size_t> summed;             // labels that are not in the result
    Dims extents;                                // of each label; an input may have 1 in its place, which repeats
};

// Inputs without a known rank are not possible here. Errors are without the node's name.
Result<EinsumPlan> planEinsum(const std::string& equation, const std::vector<Dims>& inputs);

} // namespace tunesmith::ops
