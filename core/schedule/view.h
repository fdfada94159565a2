// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/graph/graph.h"

namespace tunesmith {

// Where a node's output lies within its first input, in bytes, if it is a run of that input's elements in rows: a Gather of
// one constant index or a Slice without steps along the outermost dimension that has more than one element. Such a node
// needs no kernel. Only of what a kernel computed, and only where the run is aligned like a buffer of its own; feature maps
// (rank 4) are left out, for they are kept in other layouts.
std::optional<std::int64_t> viewOffset(const Graph& graph, NodeId id);

inline constexpr std::int64_t kBufferAlignment = 64; // bytes

// Whether all parts of a Split are such runs.
bool splitsIntoViews(const Graph& graph, const Node& split);

} // namespace tunesmith
