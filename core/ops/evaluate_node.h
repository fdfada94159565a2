// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith {

// The opset whose rules apply to nodes of a domain; graphs that import none (built by hand) get kNewestOpset.
inline constexpr std::int64_t kNewestOpset = 17;
std::int64_t effectiveOpset(const Graph& graph, const std::string& domain = {});

// Computes one node on concrete inputs: the shape rule checks them, the reference kernel does the work. The one door to
// kernels for the interpreter, constant folding and shape inference. Never throws: running out of memory is an Error.
struct EvaluateOptions {
    std::int64_t memoryLimit = 0; // bytes of all outputs together, below the budget of the process (base/memory_budget.h); 0: no other limit
    BodyRunner runBody;           // for If, Loop and Scan
};
Result<std::vector<Tensor>> evaluateNode(const Node& node, std::int64_t opset, const std::vector<Tensor>& inputs,
                                         const EvaluateOptions& options = {});

// Elements that loops over a shape may visit: an extent of 0 counts as 1, for loops may go along the others. No value beyond 57 bits.
std::optional<std::int64_t> walkedElements(Shape shape);
// Bytes of so many values of a static type; no value when that does not fit 62 bits.
std::optional<std::int64_t> byteSizeOf(const TensorType& type);
// Of a static type: no elements, but extents that no memory would hold.
bool isEndless(const TensorType& type);
Error unknownOperator(const Node& node);

} // namespace tunesmith
