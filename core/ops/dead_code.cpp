// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/dead_code.h"

#include "core/graph/graph_builder.h"
#include "core/ops/operator.h"

namespace tunesmith {

Result<Graph> removeDeadNodes(const Graph& graph) {
    std::vector<bool> isOutput(graph.valueCount(), false), alive(graph.nodeCount(), false);
    for (const ValueId id : graph.outputs())
        isOutput[id.index()] = true;
    GraphBuilder builder(graph);
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        const NodeId nodeId(static_cast<std::int64_t>(i));
        const Node& node = graph.node(nodeId);
        bool needed = findOperator(node.op, node.domain) == nullptr;
        for (const ValueId id : node.outputs) {
            if (!id.valid())
                continue;
            needed = needed || isOutput[id.index()];
            for (const NodeId consumer : graph.consumers(id))
                needed = needed || alive[consumer.index()];
        }
        alive[i] = needed;
        if (!needed)
            builder.removeNode(nodeId);
    }
    return builder.build();
}

} // namespace tunesmith
