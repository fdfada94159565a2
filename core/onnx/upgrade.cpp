// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/upgrade.h"

#include <algorithm>

#include "core/onnx/upgrade_rules.h"
#include "core/ops/infer_shapes.h"
#include "core/ops/operator.h"

namespace tunesmith {
namespace {

// One graph, or the body of a control flow node inside of another. Nodes are rewritten in order, and what a
// rewritten node yields is inferred at once: the next rule may need the rank.
class GraphUpgrade {
public:
    GraphUpgrade(const Graph& graph, const GraphUpgrade* outer)
        : graph_(graph), outer_(outer), builder_(graph) {}

    Result<Graph> run() {
        for (const auto& value : graph_.values())
            types_.push_back(value->type);
        for (const ValueId id : graph_.captures())
            if (const TensorType* type = outer_ ? outer_->typeOf(graph_.value(id).name) : nullptr)
                types_[id.index()] = *type;
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            TS_TRY(upgrade(NodeId(static_cast<std::int64_t>(i))));
        builder_.setOpset({}, kOldestRules);
        return builder_.build();
    }

private:
    const TensorType* typeOf(const std::string& name) const {
        const ValueId id = graph_.findValue(name);
        if (id.valid())
            return &types_[id.index()];
        return outer_ ? outer_->typeOf(name) : nullptr;
    }

    Status upgrade(NodeId id) {
        OldNode old(graph_.node(id), graph_.opset(), builder_, typeOf_);
        for (auto& [key, attribute] : old.node.attributes)
            if (const auto* body = std::get_if<std::shared_ptr<const Graph>>(&attribute)) {
                TS_ASSIGN(Graph upgraded, GraphUpgrade(**body, this).run());
                attribute = std::make_shared<const Graph>(std::move(upgraded));
            }
        if (old.node.domain.empty())
            TS_TRY(upgradeNode(old));
        infer(old.node);
        builder_.replaceNode(id, std::move(old.node));
        return {};
    }

    // A rule that refuses leaves the declared types: the driver of the shape rules will say what is wrong.
    void infer(const Node& node) {
        const Operator* op = findOperator(node.op, node.domain);
        if (!op || !op->infer)
            return;
        std::vector<TensorType> types(node.inputs.size());
        std::vector<Tensor> constants(node.inputs.size());
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            if (node.hasInput(i)) {
                types[i] = typeOf_(node.inputs[i]);
                constants[i] = builder_.value(node.inputs[i]).constant;
            }
        InferContext context(node, kOldestRules, std::move(types), std::move(constants));
        context.outputs.resize(node.outputs.size());
        context.values.resize(node.outputs.size());
        if (!op->infer(context).ok())
            return;
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i].valid())
                if (auto merged = mergeTypes(context.outputs[i], types_[node.outputs[i].index()]);
                    merged.ok())
                    types_[node.outputs[i].index()] = std::move(*merged);
    }

    const Graph& graph_;
    const GraphUpgrade* outer_;
    GraphBuilder builder_;
    std::vector<TensorType> types_; // of the graph's own values; those of new ones are in the builder
    const OldNode::TypeOf typeOf_ = [this](ValueId id) -> const TensorType& {
        return id.index() < types_.size() ? types_[id.index()] : builder_.value(id).type;
    };
};

} // namespace

Result<Graph> upgradeOpset(const Graph& graph) {
    const std::int64_t opset = graph.opset();
    if (opset == 0 || opset >= kOldestRules)
        return graph;
    return GraphUpgrade(graph, nullptr).run();
}

} // namespace tunesmith
