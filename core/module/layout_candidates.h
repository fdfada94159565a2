// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/schedule/layouts.h"

namespace tunesmith {

// Which layouts planning considers. Kernels can read and write any; of most it is plain that nobody wants them.

// Layouts for what a group makes, the given one first, then the most promising, `most` at the utmost. Blocks that need few vectors are, and
// rows where nothing convolves.
std::vector<loops::Layout> outputCandidates(const Graph& graph, const KernelGroup& group, const loops::Layout& given, const Target& target,
                                            std::size_t most);
// Layouts in which a group may get one of its maps, likewise: as it may be made, and blocks for a convolution that finds rows.
std::vector<loops::Layout> readCandidates(const Graph& graph, const KernelGroup& group, ValueId input, const loops::Layout& given,
                                          const std::vector<loops::Layout>& made, const Target& target, std::size_t most);

// Lanes of vectors that a number of channels takes in blocks of some width, in lanes of full vectors or halves of them: processors
// with narrower units run two halves as fast as one whole.
std::int64_t busyLanes(std::int64_t channels, std::int64_t block, const Target& target);

} // namespace tunesmith
