// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith {

// The tensor expression of one node of a graph with static types: inputs are the node's inputs in order (each one once per
// position, none for those left out), outputs the outputs that somebody may read. An Error of kind unsupported names the
// node and why it cannot be compiled: what its shape rule refuses, for lowerings rely on that, an unknown operator, an unsupported
// attribute, a dimension that is not known.
Result<loops::Program> lowerNode(const Graph& graph, NodeId id);

// Whether the reference kernel takes the node, as far as its shape rule can tell from types and constants.
Status checkComputable(const Graph& graph, NodeId id);

// Only whether it can be lowered, without making the expression where the operator can tell.
Status checkLowerable(const Graph& graph, NodeId id);

} // namespace tunesmith
