// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/raise_opset.h"

#include <algorithm>

#include "core/graph/graph_builder.h"

namespace tunesmith::rewrite {
namespace {

constexpr std::int64_t kFrom = 13, kTo = 17;

bool readsStatistics(const Node& node) {
    return node.op == "BatchNormalization" && std::any_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueId output) { return output.valid(); });
}

bool hasBody(const Node& node) {
    return std::ranges::any_of(node.attributes, [](const auto& entry) { return std::holds_alternative<std::shared_ptr<const Graph>>(entry.second); });
}

} // namespace

Result<Graph> raisedOpset(const Graph& graph) {
    const auto keeps = [](const std::shared_ptr<const Node>& node) { return readsStatistics(*node) || hasBody(*node); };
    if (graph.opset() < kFrom || graph.opset() >= kTo || std::ranges::any_of(graph.nodes(), keeps))
        return graph;
    GraphBuilder builder(graph);
    builder.setOpset({}, kTo);
    return builder.build();
}

} // namespace tunesmith::rewrite
