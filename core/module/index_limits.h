// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/ops/index_inputs.h"

namespace tunesmith {

// ONNX calls an index out of range an error, and compiled loops cannot look for it in each element that they gather. What a caller gives as
// indices can be looked at before anything runs, at the price of reading it once: a module refuses it there, as the reference kernels do.
//
// Of each input of a model that the caller may have wrong: where it is legal, for it goes unchanged into inputs that count places
// (ops/index_inputs.h), whatever their operators are compiled as; open where it is no index. An index that becomes int32 on the way is one, too.
// Only inputs of 32 and 64 bits, and nodes of the graph itself: a body may not be run. An index that the model computes is not looked at: kernels
// then take the nearest element that there is, and rows that a cache has no room for are lost.
std::vector<IndexRange> indexLimits(const Graph& model);

// The same of inputs at hand, in the order of the model's; the error names the input.
Status checkIndices(const Graph& model, const std::vector<Tensor>& inputs);

} // namespace tunesmith
