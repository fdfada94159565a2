// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// Convolutions along one dimension as convolutions of maps of one row, for which there are kernels and layouts: lines [N, C, W], as networks for sound and
// text have them, become [N, C, 1, W], and columns [N, C, H, 1], of which a row is too short for any vector, [N, C, 1, H]. Both are the same memory. Pools and
// elementwise operators behind them go along, so that they stay in one kernel, and what others read is reshaped back. Weights must be constant and
// shapes static; everything else stays as it is. Runs after shape
// inference, and all types are known behind it.
Result<Graph> lineConvsAsMapConvs(const Graph& graph);

} // namespace tunesmith
