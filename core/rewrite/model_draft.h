// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// A model as a draft, and what a draft does not know: names. Numbers of nodes and values that the model has keep their names through
// all rewrites.
struct ModelDraft {
    Graph source;
    Draft draft;
    std::vector<NodeId> sourceNodes;      // by node number
    std::vector<std::string> valueNames;  // by value number
    std::vector<std::string> outputNames; // of draft.outputs(): the model's outputs first, then what bodies of control flow read
};

// Nodes that compute the same are one from the start, windows have explicit pads. What no rule may look into is opaque: unknown or random
// operators, control flow, and whatever has types that are not static. Bind dimensions and fold constants before.
Result<ModelDraft> draftOf(const Graph& graph);
bool isOpaque(const Draft& draft, NodeNo node);

// The draft as a graph with the model's inputs and outputs, its names where it has nodes and values of the model, and, as lineage, what
// became of those. What depends on constants only is still nodes: foldConstants() computes it.
Result<Graph> graphOf(const ModelDraft& model, const Draft& draft, const std::string& rule = {});

} // namespace tunesmith::rewrite
