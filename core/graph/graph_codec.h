// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace tunesmith {

// A graph as bytes of our own, bodies included, for an exported module to read back: no other reader, and none of another
// version. Names, types, attributes and opsets are kept; metadata and lineage are not.

// Where the bytes of a constant are kept: the writer hands each one over, the reader asks for it by the same number.
using PlaceConstant = std::function<std::int64_t(const Tensor&)>;
using FindConstant = std::function<const std::byte*(std::int64_t)>; // these bytes outlive the graph

std::vector<std::byte> packGraph(const Graph& graph, const PlaceConstant& place);
// An Error says that the bytes are not what packGraph() wrote.
Result<Graph> unpackGraph(std::span<const std::byte> bytes, const FindConstant& find);

} // namespace tunesmith
