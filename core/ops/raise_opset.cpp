// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/raise_opset.h"

#include <algorithm>

#include "core/graph/graph_builder.h"
#include "core/ops/expand_control_flow.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kFrom = 13, kTo = 17;

// BatchNormalization's further outputs became others in 14 and 15, RoiAlign's pixels have been somewhere else by default since 16.
bool changes(const Node& node) {
    const bool readsStatistics = node.op == "BatchNormalization" && std::any_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueId output) { return output.valid(); });
    return readsStatistics || node.op == "RoiAlign";
}

} // namespace

std::int64_t raisedOpset(const Node& node, std::int64_t opset) { return opset < kFrom || opset >= kTo || changes(node) || ops::hasBody(node) ? opset : kTo; }

Result<Graph> raisedOpset(const Graph& graph) {
    const auto keeps = [&](const std::shared_ptr<const Node>& node) { return node->domain.empty() && raisedOpset(*node, graph.opset()) == graph.opset(); };
    if (std::ranges::any_of(graph.nodes(), keeps) || graph.opset() < kFrom || graph.opset() >= kTo)
        return graph;
    GraphBuilder builder(graph);
    builder.setOpset({}, kTo);
    return builder.build();
}

} // namespace tunesmith
