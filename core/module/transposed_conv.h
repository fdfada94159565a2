// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// ConvTranspose of stride s with constant weights is an ordinary convolution that makes the s x s outputs of each input
// position as channels, and a DepthToSpace: with y = s q + r, output y of channel o is the sum over u of input q - u times
// weight s u + r. So it gets the kernels of convolutions. Where the stride divides the kernel, which is what decoders use;
// everything else stays as it is. Runs after shape inference.
Result<Graph> transposedConvsAsConvs(const Graph& graph);

} // namespace tunesmith
