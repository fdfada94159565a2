// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/fold_constants.h"

#include "core/graph/graph_builder.h"
#include "core/ops/dead_code.h"
#include "core/ops/evaluate_node.h"
#include "core/ops/infer_shapes.h"

namespace tunesmith {
namespace {

class Folder {
public:
    Folder(const InferredGraph& inferred, const FoldOptions& options)
        : graph_(inferred.graph), options_(options), builder_(inferred.graph) {
        for (const auto& [id, value] : inferred.known)
            if (graph_.value(id).producer.valid() && deterministic(graph_.value(id).producer))
                builder_.setConstant(id, value);
    }

    Result<Graph> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i) {
            if (options_.stop.stopRequested())
                return cancelledError();
            fold(*graph_.nodes()[i]);
        }
        TS_ASSIGN(const Graph folded, builder_.build());
        return removeDeadNodes(folded);
    }

private:
    bool deterministic(NodeId id) const {
        const Operator* op = findOperator(graph_.node(id).op, graph_.node(id).domain);
        return op && op->deterministic;
    }

    void fold(const Node& node) {
        const Operator* op = findOperator(node.op, node.domain);
        if (!op || !op->eval || !op->deterministic || done(node))
            return;
        std::vector<Tensor> inputs(node.inputs.size());
        std::int64_t inputBytes = 0;
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            if (!node.hasInput(i))
                continue;
            inputs[i] = builder_.value(node.inputs[i]).constant;
            if (inputs[i].absent())
                return;
            inputBytes += static_cast<std::int64_t>(inputs[i].byteCount());
        }
        if (!worthwhile(node, *op, inputBytes))
            return;
        const auto outputs = evaluateNode(node, effectiveOpset(graph_, node.domain), inputs);
        for (std::size_t i = 0; outputs.ok() && i < node.outputs.size(); ++i)
            if (node.outputs[i].valid())
                builder_.setConstant(node.outputs[i], (*outputs)[i]);
    }

    bool done(const Node& node) const {
        for (const ValueId id : node.outputs)
            if (id.valid() && !builder_.value(id).isConstant())
                return false;
        return true;
    }

    // Whether the results are small enough to be kept. Where their size is not known before, small inputs must do.
    bool worthwhile(const Node& node, const Operator& op, std::int64_t inputBytes) const {
        for (const ValueId id : node.outputs) {
            if (!id.valid())
                continue;
            const TensorType& type = builder_.value(id).type;
            const auto bytes = type.isStatic() ? byteSizeOf(type) : std::nullopt;
            if (!bytes && (inputBytes > options_.slackBytes || type.isStatic()))
                return false;
            if (!bytes || op.fusion == Fusion::alias)
                continue;
            const bool grown = *bytes > options_.slackBytes && *bytes / options_.maxGrowth > inputBytes;
            if (*bytes > options_.maxResultBytes || grown)
                return false;
        }
        return true;
    }

    const Graph& graph_;
    const FoldOptions& options_;
    GraphBuilder builder_;
};

} // namespace

Result<Graph> foldConstants(const Graph& graph, const FoldOptions& options) {
    TS_ASSIGN(const InferredGraph inferred, inferShapesAndValues(graph));
    return Folder(inferred, options).run();
}

} // namespace tunesmith
