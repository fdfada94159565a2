// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/graph/graph.h"

namespace tunesmith {

// A part of a graph as a graph of its own, with the same names and types. Its inputs are the values that the part reads
// and does not make (constants come along), its outputs those that anybody else reads or that the whole gives out; `inputs`
// and `outputs` say which values of the whole these are. Node ids in topological order of the whole.
struct GraphPart {
    Graph graph;
    std::vector<ValueId> inputs, outputs;
};
Result<GraphPart> cutOut(const Graph& whole, const std::vector<NodeId>& nodes);

} // namespace tunesmith
