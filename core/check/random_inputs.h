// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/ops/index_inputs.h"

namespace tunesmith {

// Inputs that make a model compute something: the same seed and graph always give the same tensors, and a
// rewritten graph with the same inputs gets the same ones. Floats are uniform in [0, 1), bools are fair
// coins, integers are uniform in [0, 10); an integer input that is used as an index (Gather and relatives, ids of
// embeddings, images of boxes, filled rows of caches, also through Cast, Reshape and the like) is one that its readers take. An input with a default value gets that. Symbolic dimensions must
// be bound before: the error names input and dimension.
Result<std::vector<Tensor>> randomInputs(const Graph& graph, std::uint64_t seed);

// The same one by one, for those who have no graph any more but kept the bounds (of graph.inputs(), in order):
// integers are drawn within the bounds, none negative, floats from `low` to 1. `index` is the place among the inputs.
std::vector<IndexRange> inputBounds(const Graph& graph);
Result<Tensor> randomInput(const std::string& name, const TensorType& type, const IndexRange& bounds, std::uint64_t seed,
                           std::size_t index, float low = 0);

} // namespace tunesmith
