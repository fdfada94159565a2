// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith {

// Sequences and optional values (graph/tensor.h). The reference engine computes on them; where it is known what they hold,
// expandSequences() does without them.
TensorType typeOf(const Tensor& value); // of what is no tensor, too

// Whether the operator of a node takes or gives values that are no tensors, and whether it takes one as this input. All others
// are given tensors alone (evaluate_node.cpp), so that their rules and kernels need not ask.
bool takesContainers(const Node& node);
bool takesContainers(const Node& node, std::size_t input);

// Whether a value is of a type; what is not known of the type is not asked.
bool isOfType(const Tensor& value, const TensorType& type);

} // namespace tunesmith
