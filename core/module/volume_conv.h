// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// A convolution of volumes in one group by constant weights is one of maps: each slice of the result is made from the slices of its window,
// whose channels stand side by side. So it gets the kernels of convolutions, for copies of the input and of the output. Runs after
// shape inference.
Result<Graph> volumeConvsAsMapConvs(const Graph& graph);

} // namespace tunesmith
