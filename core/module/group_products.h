// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// Convolutions of single pixels in groups whose channels no block of 8 divides (ShuffleNet's 34 of 136) as products: of each group's weights [O/G, C/G] by its channels
// [C/G, H W], of which pixels are the lanes. Four groups of 34 channels of 28x28 take 0.065 ms on a Zen 4 core, in blocks of two channels 0.7 to 1.1. What is
// elementwise behind them, and repeated by whole planes or channels, goes along. Weights and biases must be constant; everything else stays as it is. Runs after shape inference, and all types are known behind it.
Result<Graph> groupedConvsAsProducts(const Graph& graph);

} // namespace tunesmith
