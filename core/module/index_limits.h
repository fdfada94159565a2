// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "core/graph/graph.h"

namespace tunesmith {

// ONNX calls an index out of range an error, and compiled loops cannot look for it in each element that they gather. What a caller gives as
// indices can be looked at before anything runs, at the price of reading it once: a module refuses it there, as the reference kernels do.
//
// Of each input of a model that the caller may have wrong: n, where it is legal from -n to n - 1 only, for it goes unchanged into a Gather
// or GatherElements along n elements, the least of several; 0 where it is no index. Only inputs of 32 and 64 bits, and nodes of the graph itself:
// a body may not be run. An index that the model computes is not looked at: kernels then take the nearest element that there is.
std::vector<std::int64_t> indexLimits(const Graph& model);

} // namespace tunesmith
