// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// ConvTranspose of stride s with constant weights is an ordinary convolution that makes the s x s outputs of each input
// position as channels, and a DepthToSpace: with y = s q + r, output y of channel o is the sum over u of input q - u times
// weight s u + r. So it gets the kernels of convolutions. Where the stride does not divide the kernel, each r has its own number of taps, and is a
// convolution of its own: none multiplies by zeros, which would make NaN of an infinity. Kernels shorter than the stride stay as they are. Runs after shape
// inference.
Result<Graph> transposedConvsAsConvs(const Graph& graph);

} // namespace tunesmith
