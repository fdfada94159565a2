// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/operator.h"

#include "core/ops/evaluate_node.h"

namespace tunesmith {
namespace {

std::string nodeText(const Node& node, const std::string& what) {
    return "node '" + node.name + "' (" + node.op + "): " + what;
}

} // namespace

OpInputs::OpInputs(const Graph& graph, const Node& ofNode)
    : node(ofNode), opset(effectiveOpset(graph, ofNode.domain)), types_(ofNode.inputs.size()), constants_(ofNode.inputs.size()) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.hasInput(i)) {
            types_[i] = graph.value(node.inputs[i]).type;
            constants_[i] = graph.value(node.inputs[i]).constant;
        }
}

Error OpInputs::error(const std::string& what) const { return inputError(nodeText(node, what)); }

Error OpInputs::unsupported(const std::string& what) const { return unsupportedError(nodeText(node, what)); }

Error EvalContext::error(const std::string& what) const { return inputError(nodeText(node, what)); }

std::shared_ptr<const Graph> InferContext::subgraph(const std::string& attribute) const {
    const auto found = node.attributes.find(attribute);
    if (found == node.attributes.end())
        return nullptr;
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&found->second);
    return graph ? *graph : nullptr;
}

} // namespace tunesmith
