// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/ops/operator.h"

namespace tunesmith {

// Writes nodes that are no loop nests with others that are, as far as their operators can with what is known: recurrent
// layers of a known length, loops whose turns are known, choices. Takes a graph whose shapes were inferred and gives back
// one whose shapes are inferred and whose constants are folded, with expansions of expansions; names of values stay. What
// cannot be expanded is left as it is.
struct ExpandOptions {
    std::size_t mostNodes = 50'000; // with those of bodies; a graph that would grow beyond keeps the node
    StopToken stop;
};
Result<Graph> expandNodes(const Graph& graph, const ExpandOptions& options = {});

// Removes a node; Identity nodes give its outputs, with their ids and names, the values of `stand` instead.
void replaceByIdentities(GraphBuilder& builder, NodeId id, const std::vector<ValueId>& stand);

// Why a node is not expanded; no Error where it can be.
Status checkExpandable(const Graph& graph, NodeId id);

} // namespace tunesmith
