// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/expand_nodes.h"

#include "core/base/memory_budget.h"
#include "core/graph/derived_name.h"
#include "core/ops/copied_size.h"
#include "core/ops/expand_sequences.h"
#include "core/ops/fold_constants.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/lower_node.h"

namespace tunesmith {
namespace {

std::size_t sizeOf(const GraphBuilder& builder, std::size_t first) {
    std::size_t size = 0;
    for (; first < builder.nodeCount(); ++first)
        size += copiedSize(builder.node(NodeId(static_cast<std::int64_t>(first))));
    return size;
}

// Leaves nodes that the shape rule refuses, for expansions rely on what it checks, and those whose constants do not fit into memory.
Status expandNode(const Operator& op, const Graph& graph, NodeId id, ExpandContext& context) {
    if (const Status computable = checkComputable(graph, id); !computable.ok())
        return unsupportedError(computable.error().message);
    try {
        return op.expand(context);
    } catch (const OutOfValueMemory& error) {
        return context.unsupported(error.what());
    }
}

// One pass over the graph; no value when nothing could be expanded.
Result<std::optional<Graph>> expandOnce(const Graph& graph, const ExpandOptions& options) {
    GraphBuilder builder(graph);
    bool expanded = false;
    std::size_t size = sizeOf(builder, 0);
    for (std::size_t n = 0; n < graph.nodeCount() && size < options.mostNodes; ++n) {
        const Node& node = *graph.nodes()[n];
        const Operator* op = findOperator(node.op, node.domain);
        if (!op || !op->expand)
            continue;
        if (options.stop.stopRequested())
            return cancelledError();
        const std::size_t before = builder.nodeCount();
        ExpandContext context(builder, graph, node);
        const Status status = expandNode(*op, graph, NodeId(static_cast<std::int64_t>(n)), context);
        size += sizeOf(builder, before);
        if (!status.ok() && status.error().kind != ErrorKind::unsupported)
            return status.error();
        if (!status.ok())
            continue;
        replaceByIdentities(builder, NodeId(static_cast<std::int64_t>(n)), context.outputs);
        expanded = true;
    }
    if (!expanded)
        return std::optional<Graph>();
    TS_ASSIGN(Graph built, builder.build());
    return std::optional<Graph>(std::move(built));
}

} // namespace

void replaceByIdentities(GraphBuilder& builder, NodeId id, const std::vector<ValueId>& stand) {
    const Node node = builder.node(id);
    builder.removeNode(id);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (!node.outputs[i].valid())
            continue;
        Node same;
        same.name = derivedName(node.name, ".is");
        same.op = "Identity";
        same.inputs = {stand[i]};
        same.outputs = {node.outputs[i]};
        builder.addNode(std::move(same));
    }
}

Result<Graph> expandNodes(const Graph& graph, const ExpandOptions& options) {
    constexpr int kDeepest = 16; // bodies within bodies
    Graph current = graph;
    for (int depth = 0; depth < kDeepest; ++depth) {
        TS_ASSIGN(std::optional<Graph> next, expandOnce(current, options));
        TS_ASSIGN(std::optional<Graph> plain, expandSequences(next ? *next : current));
        if (!next && !plain)
            return current;
        TS_ASSIGN(const Graph typed, inferShapes(plain ? *plain : *next));
        FoldOptions folding = FoldOptions::weights();
        folding.stop = options.stop;
        TS_ASSIGN(const Graph folded, foldConstants(typed, folding));
        TS_ASSIGN(current, inferShapes(folded));
    }
    return current;
}

Status checkExpandable(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const Operator* op = findOperator(node.op, node.domain);
    if (!op || !op->expand)
        return unsupportedError("node '" + node.name + "' (" + node.op + ") is not written with other operators");
    GraphBuilder scratch(graph);
    ExpandContext context(scratch, graph, node);
    return expandNode(*op, graph, id, context);
}

} // namespace tunesmith
