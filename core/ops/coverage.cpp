// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/coverage.h"

#include "core/ops/evaluate_node.h"
#include "core/ops/lower_node.h"

namespace tunesmith {
namespace {

std::string fullName(const Node& node) {
    return node.domain.empty() || node.domain == "ai.onnx" ? node.op : node.domain + "." + node.op;
}

void survey(const Graph& graph, Coverage& found);

void surveyNode(const Graph& graph, NodeId id, Coverage& found) {
    const Node& node = graph.node(id);
    ++found.operators[fullName(node)];
    for (const auto& [key, attribute] : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute))
            survey(**body, found);
    if (const Status computable = checkComputable(graph, id); !computable.ok()) {
        found.notComputed.push_back({node.name, fullName(node), computable.error().message});
        return;
    }
    const Operator* op = findOperator(node.op, node.domain);
    if (const Status lowerable = checkLowerable(graph, id); !lowerable.ok()) {
        found.notCompiled.push_back({node.name, fullName(node), lowerable.error().message});
        found.flopsComplete = found.flopsComplete && !op->lower;
        return;
    }
    const auto program = lowerNode(graph, id);
    if (program.ok())
        found.flops += loops::flopCount(*program);
    else
        found.notCompiled.push_back({node.name, fullName(node), program.error().message});
}

// Shapes, axes, indices and flags are no parameters.
bool isWeight(DType type) { return type != DType::i64 && type != DType::boolean && type != DType::string; }

void survey(const Graph& graph, Coverage& found) {
    for (const auto& value : graph.values())
        if (value->isConstant() && isWeight(value->constant.type())) {
            found.parameters += value->constant.count();
            found.parameterBytes += static_cast<std::int64_t>(value->constant.byteCount());
        }
    for (std::size_t i = 0; i < graph.nodeCount(); ++i)
        surveyNode(graph, NodeId(static_cast<std::int64_t>(i)), found);
}

} // namespace

Coverage coverage(const Graph& graph) {
    Coverage found;
    survey(graph, found);
    return found;
}

} // namespace tunesmith
