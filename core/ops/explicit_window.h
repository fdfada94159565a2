// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// Convolutions and pools with nothing left to defaults: pads as numbers, strides, dilations, a convolution's groups and kernel, so that windows that are the
// same look the same. `opset`: what the node is to be written in; dilations are named where operators have them there. Other nodes, and those whose input has no
// static shape, come back as they are.
Node withExplicitWindow(const Graph& graph, Node node, std::int64_t opset);

} // namespace tunesmith
