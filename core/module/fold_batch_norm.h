// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// Conv followed by BatchNormalization with constant statistics is one Conv with other weights:
// w' = w * s, b' = (b - mean) * s + beta with s = gamma / sqrt(var + epsilon), per output channel. Only where nobody else
// reads the convolution's output, and all of it is finite.
Result<Graph> foldBatchNorms(const Graph& graph);

} // namespace tunesmith
