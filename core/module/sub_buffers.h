// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "core/schedule/layouts.h"

namespace tunesmith {

// Concatenation without copies: where the pieces lie one after the other in memory, each input is computed right into its
// slice of the output.
struct SubBuffer {
    ValueId whole;            // the output of the Concat
    std::int64_t offset = 0;  // bytes
};

// Byte offsets of a Concat's inputs within its output when each is one contiguous slice of it that begins at a multiple of 64.
std::optional<std::vector<std::int64_t>> concatSlices(const Graph& graph, const Node& concat, const LayoutPlan& layouts);

// Whether a group is such a Concat and nothing else: then it needs no kernel of its own.
bool isSlicedConcat(const Graph& graph, const KernelGroup& group, const LayoutPlan& layouts);

// The values that kernels can write straight into a concatenation.
std::map<ValueId, SubBuffer> findSubBuffers(const Graph& graph, const std::vector<KernelGroup>& groups, const LayoutPlan& layouts);

} // namespace tunesmith
