// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/split_views.h"

#include "core/graph/derived_name.h"
#include "core/graph/graph_builder.h"
#include "core/ops/evaluate_node.h"
#include "core/schedule/view.h"

namespace tunesmith {
namespace {

// One part of a split, from one index of the axis to another.
Node sliceOf(GraphBuilder& builder, const Node& split, std::size_t part, std::int64_t begin, std::int64_t end) {
    Node slice;
    slice.op = "Slice";
    slice.name = derivedName(split.name, ".part" + std::to_string(part));
    const auto bound = [&](std::int64_t value) { return builder.addConstant(derivedName(slice.name, ".bound"), Tensor::ofInts({value})); };
    slice.inputs = {split.inputs[0], bound(begin), bound(end), bound(split.intAttr("axis", 0))};
    slice.outputs = {split.outputs[part]};
    return slice;
}

void cut(const Graph& graph, GraphBuilder& builder, NodeId id) {
    const Node& split = graph.node(id);
    const Shape whole = graph.value(split.inputs[0]).type.shape();
    const std::int64_t axis = split.intAttr("axis", 0);
    const std::size_t at = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(whole.size()) : axis);
    std::int64_t begin = 0;
    builder.removeNode(id);
    for (std::size_t part = 0; part < split.outputs.size(); ++part) {
        const std::int64_t end = begin + graph.value(split.outputs[part]).type.shape()[at];
        builder.addNode(sliceOf(builder, split, part, begin, end));
        begin = end;
    }
}

} // namespace

Result<Graph> splitsAsViews(const Graph& graph) {
    if (effectiveOpset(graph) < 10)
        return graph; // where Slice has its bounds as attributes
    GraphBuilder builder(graph);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i)
        if (const NodeId id(static_cast<std::int64_t>(i)); splitsIntoViews(graph, graph.node(id)))
            cut(graph, builder, id);
    return builder.build();
}

} // namespace tunesmith
