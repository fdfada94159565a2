// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/layered_layout.h"
#include "core/workbench/model.h"

namespace tunesmith {

// A model as a picture, ready for a view: plain data, made off the window's thread. Constants, and nodes that
// read nothing but constants, are no nodes of their own but rows of the node that reads them.
struct PictureNode {
    enum class Category { conv, dense, pool, norm, elementwise, shape, other, io };
    std::string title;    // operator; for inputs and outputs of the model its name
    std::string subtitle; // name of the node
    Category category = Category::other;
    std::vector<std::pair<std::string, std::string>> attributes;
    std::vector<TensorSpec> inputs, weights, outputs; // weights: constants that it reads
    std::int64_t flops = 0;
    std::string problem = {};     // why no engine computes it; empty when one does
    std::string domain = {};      // of the operator; empty for ONNX's own
    std::string notCompiled = {}; // why only the reference engine computes it; empty when it is compiled
};

struct PictureEdge {
    std::size_t from = 0, to = 0; // indices into nodes
    TensorSpec tensor;
};

struct ModelPicture {
    std::vector<PictureNode> nodes; // inputs, nodes in topological order, outputs
    std::vector<PictureEdge> edges;
};

ModelPicture drawModel(const Model& model);

// One node of a graph, whose weights are what is given as such.
PictureNode drawNode(const Graph& graph, NodeId id, const std::function<bool(ValueId)>& isWeight);

} // namespace tunesmith
