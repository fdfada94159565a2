// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith::rewrite {

// A model of opset 13 to 16 as one of opset 17, whose LayerNormalization rules may then write: between those, operators only got further
// attributes, types and outputs. Other models come back as they are, and so do those that read BatchNormalization's further outputs,
// which became others.
Result<Graph> raisedOpset(const Graph& graph);

} // namespace tunesmith::rewrite
