// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/ops/operator.h"

namespace tunesmith {

// Values for symbolic dimensions of graph inputs: by name ("batch"), or by position ("input.0" is the first dimension of
// the input named "input").
using DimBindings = std::map<std::string, std::int64_t>;

// Gives every value its type, as far as it can be known, by running the operators' shape rules in topological order.
// Shape computations (Shape -> Gather -> Concat -> Reshape) are followed by value. What the model declares is merged with
// what the rules say; a contradiction is an Error that names the node and both. An unknown operator, or one
// that is used in an unsupported way, leaves the declared types of its outputs as they are (coverage() says why). Dimensions of inputs without a name get one ("input.0").
// With bindings, the declared types of intermediate values are forgotten first, for they may speak of other extents.
// Nodes and values keep their ids.
//
// Files are edited by hand and keep shapes that no longer hold; other runtimes warn and compute. With `stale`, a declared
// shape that contradicts the rules is given up and a sentence about it added there. An element type is never given up.
using StaleShapes = std::vector<std::string>;
Result<Graph> inferShapes(const Graph& graph, const DimBindings& bindings = {}, StaleShapes* stale = nullptr);

// The same, and also the values that turned out to be known although they are not constants of the graph.
struct InferredGraph {
    Graph graph;
    std::map<ValueId, Tensor> known;
};
Result<InferredGraph> inferShapesAndValues(const Graph& graph, const DimBindings& bindings = {}, StaleShapes* stale = nullptr);

// Whether a body of a node (of a graph whose shapes were inferred) can work with the types that are around it.
Status checkBody(const Graph& graph, const Node& node, const std::string& attribute);

// The names that bindings may use: symbols of input dimensions, in order, "input.0" for those without.
std::vector<std::string> bindableDims(const Graph& graph);

// What two statements about one value say together; an Error (both types as text) when they contradict each other.
// Where both name a dimension differently, the name of `preferred` stays.
Result<TensorType> mergeTypes(const TensorType& preferred, const TensorType& other);

} // namespace tunesmith
