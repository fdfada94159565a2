// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/fold_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "core/graph/derived_name.h"
#include "core/graph/graph_builder.h"

namespace tunesmith {
namespace {

bool isFinite(const Tensor& tensor) {
    return std::ranges::all_of(tensor.data<float>(), [](float value) { return std::isfinite(value); });
}

class BatchNormFolder {
public:
    explicit BatchNormFolder(const Graph& graph) : graph_(graph), builder_(graph) {}

    Result<Graph> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            tryFold(NodeId(static_cast<std::int64_t>(i)));
        return builder_.build();
    }

private:
    const Tensor& constant(ValueId id) const { return graph_.value(id).constant; }

    bool isConstantFloat(const Node& node, std::size_t input) const {
        return node.hasInput(input) && constant(node.inputs[input]).type() == DType::f32;
    }

    bool foldable(const Node& norm, const Node& conv) const {
        if (conv.op != "Conv" || !conv.domain.empty() || graph_.consumers(conv.outputs[0]).size() != 1 ||
            graph_.consumers(norm.inputs[0])[0] != graph_.value(norm.outputs[0]).producer || !isConstantFloat(conv, 1) ||
            (conv.hasInput(2) && !isConstantFloat(conv, 2)))
            return false;
        for (const ValueId output : graph_.outputs())
            if (output == conv.outputs[0])
                return false;
        const std::int64_t channels = constant(conv.inputs[1]).shape()[0];
        for (std::size_t i = 1; i <= 4; ++i)
            if (!isConstantFloat(norm, i) || constant(norm.inputs[i]).count() != channels)
                return false;
        return true;
    }

    void tryFold(NodeId id) {
        const Node& norm = graph_.node(id);
        if (norm.op != "BatchNormalization" || !norm.domain.empty() || norm.intAttr("training_mode", 0) != 0 || !norm.outputs[0].valid())
            return;
        if (std::any_of(norm.outputs.begin() + 1, norm.outputs.end(), [](ValueId output) { return output.valid(); }))
            return; // the statistics of training, which older opsets ask for by reading them
        const NodeId producer = graph_.value(norm.inputs[0]).producer;
        if (!producer.valid() || !foldable(norm, graph_.node(producer)))
            return;
        fold(id, producer);
    }

    void fold(NodeId normId, NodeId convId) {
        const Node& norm = graph_.node(normId);
        Node conv = graph_.node(convId);
        const Tensor& old = constant(conv.inputs[1]);
        Tensor weights = Tensor::zeros(DType::f32, old.shape());
        Tensor bias = Tensor::zeros(DType::f32, {old.shape()[0]});
        const auto gamma = constant(norm.inputs[1]).data<float>(), beta = constant(norm.inputs[2]).data<float>();
        const auto mean = constant(norm.inputs[3]).data<float>(), variance = constant(norm.inputs[4]).data<float>();
        const float epsilon = norm.floatAttr("epsilon", 1e-5f);
        const std::size_t perChannel = old.data<float>().size() / std::max<std::size_t>(1, gamma.size());
        for (std::size_t c = 0; c < gamma.size(); ++c) {
            const double scale = gamma[c] / std::sqrt(static_cast<double>(variance[c]) + epsilon);
            for (std::size_t i = c * perChannel; i < (c + 1) * perChannel; ++i)
                weights.mutableData<float>()[i] = static_cast<float>(old.data<float>()[i] * scale);
            const double before = conv.hasInput(2) ? constant(conv.inputs[2]).data<float>()[c] : 0.0;
            bias.mutableData<float>()[c] = static_cast<float>((before - mean[c]) * scale + beta[c]);
        }
        if (!isFinite(weights) || !isFinite(bias))
            return; // beyond single precision, or not finite before
        const std::string& name = graph_.value(conv.inputs[1]).name;
        conv.inputs.resize(3);
        conv.inputs[1] = builder_.addConstant(derivedName(name, ".folded"), std::move(weights));
        conv.inputs[2] = builder_.addConstant(derivedName(name, ".folded_bias"), std::move(bias));
        conv.outputs = {norm.outputs[0]};
        builder_.removeNode(normId);
        builder_.replaceNode(convId, std::move(conv));
    }

    const Graph& graph_;
    GraphBuilder builder_;
};

} // namespace

Result<Graph> foldBatchNorms(const Graph& graph) { return BatchNormFolder(graph).run(); }

} // namespace tunesmith
