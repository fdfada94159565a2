// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// From opset 13 to 17 nearly all operators only got further attributes, types and outputs.

// The newest opset in which a node of the default domain means what it means in this one.
std::int64_t raisedOpset(const Node& node, std::int64_t opset);

// A model of opset 13 to 16 as one of opset 17, whose LayerNormalization rules may then write. Others come back as they are, and so do those
// with a node that would mean something else, or with bodies.
Result<Graph> raisedOpset(const Graph& graph);

} // namespace tunesmith
