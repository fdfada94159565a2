// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/quantised_products.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/graph_builder.h"
#include "core/module/quantised_values.h"
#include "core/ops/dead_code.h"
#include "core/ops/fold_constants.h"
#include "core/ops/quantize.h"

namespace tunesmith {
namespace {

class Pass {
public:
    explicit Pass(const Graph& graph) : graph_(graph), reader_(graph), builder_(graph) {}

    Result<Graph> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            if (isPlain(node(i), "QuantizeLinear"))
                quantise(NodeId(static_cast<std::int64_t>(i)));
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            if ((isPlain(node(i), "MatMul") || isPlain(node(i), "Gemm")) && !done_[i])
                replace(NodeId(static_cast<std::int64_t>(i)), {}, {});
        TS_ASSIGN(const Graph changed, builder_.build());
        return removeDeadNodes(changed);
    }

private:
    static constexpr std::int64_t kPoolsBytes = 12; // opset of MaxPool

    // Nodes between a product and its result in bytes: the QuantizeLinear first, the pool among them if any.
    struct Behind {
        std::vector<NodeId> nodes;
        NodeId pool;
    };

    const Node& node(std::size_t i) const { return *graph_.nodes()[i]; }
    const Tensor& constant(ValueId id) const { return graph_.value(id).constant; }
    bool isConstant(const Node& node, std::size_t input) const { return node.hasInput(input) && graph_.value(node.inputs[input]).isConstant(); }
    const TensorType& typeOf(ValueId id) const { return graph_.value(id).type; }

    bool readOnce(ValueId id) const {
        return graph_.consumers(id).size() == 1 && std::ranges::find(graph_.outputs(), id) == graph_.outputs().end();
    }

    // The product that is quantised, with what saturation does in between, and a maximum of windows, which may as well be taken of bytes.
    void quantise(NodeId id) {
        const Node& last = graph_.node(id);
        const auto result = reader_.parameters(last, last.outputs[0]);
        if (!result || result->axis >= 0 || !ops::isByte(result->type) || typeOf(last.inputs[0]).dtype != DType::f32)
            return;
        Behind behind{{id}, {}};
        for (ValueId real = last.inputs[0]; readOnce(real) && graph_.value(real).producer.valid(); real = graph_.node(behind.nodes.back()).inputs[0]) {
            const NodeId at = graph_.value(real).producer;
            const Node& node = graph_.node(at);
            if (isPlain(node, "Conv") || isPlain(node, "MatMul") || isPlain(node, "Gemm"))
                return replace(at, behind, result);
            const bool pools = isPlain(node, "MaxPool") && node.outputs.size() == 1 && !behind.pool.valid() && graph_.opset() >= kPoolsBytes;
            if (!pools && !saturates(node, *result))
                return;
            behind.nodes.push_back(at);
            if (pools)
                behind.pool = at;
        }
    }

    // Whether the bounds of a Relu or Clip are the ends of what bytes can say, or beyond.
    bool saturates(const Node& node, const QuantisedValue& result) const {
        const float infinity = std::numeric_limits<float>::infinity();
        float low = -infinity, high = infinity;
        if (isPlain(node, "Relu")) {
            low = 0;
        } else if (isPlain(node, "Clip") && node.attributes.empty() && (!node.hasInput(1) || isConstant(node, 1)) && (!node.hasInput(2) || isConstant(node, 2))) {
            low = node.hasInput(1) ? constant(node.inputs[1]).cast(DType::f32).data<float>()[0] : low;
            high = node.hasInput(2) ? constant(node.inputs[2]).cast(DType::f32).data<float>()[0] : high;
        } else {
            return false;
        }
        const float first = result.type == DType::u8 ? 0 : -128;
        const auto stored = [&](float bound) { return std::nearbyint(bound / reader_.scaleOf(result, 0)) + static_cast<float>(reader_.zeroOf(result)); };
        return stored(low) <= first && stored(high) >= first + 255;
    }

    // Puts a product of bytes in the place of the product and of what is behind it.
    void replace(NodeId id, const Behind& behind, const std::optional<QuantisedValue>& result) {
        const Node& product = graph_.node(id);
        const bool gemm = isPlain(product, "Gemm");
        if (gemm && (product.floatAttr("alpha", 1) != 1 || (product.hasInput(2) && product.floatAttr("beta", 1) != 1) || product.intAttr("transA", 0) != 0))
            return;
        const auto operands = reader_.operandsOf(product);
        if (!operands || !reader_.hasFactors(*operands, result) || typeOf(product.outputs[0]).dtype != DType::f32)
            return;
        done_[id.index()] = true;
        Node made = gemm ? gemmOf(product, *operands, result) : isPlain(product, "Conv") ? convOf(product, *operands, *result) : matMulOf(*operands, result);
        made.name = product.name;
        const ValueId output = graph_.node(behind.nodes.empty() ? id : behind.nodes.front()).outputs[0];
        made.outputs = {behind.pool.valid() ? builder_.addValue("") : output};
        for (const NodeId gone : behind.nodes)
            if (gone != behind.pool)
                builder_.removeNode(gone);
        if (behind.pool.valid()) {
            Node pool = graph_.node(behind.pool);
            pool.inputs = made.outputs;
            pool.outputs = {output};
            builder_.replaceNode(behind.pool, std::move(pool));
        }
        builder_.replaceNode(id, std::move(made));
    }

    ValueId zeroPoint(const QuantisedValue& bytes) { return bytes.zero.valid() ? bytes.zero : builder_.addConstant("", Tensor::zeros(bytes.type, constant(bytes.scale).shape())); }

    Node convOf(const Node& product, const QuantisedOperands& o, const QuantisedValue& y) {
        Node made;
        made.op = "QLinearConv";
        made.attributes = product.attributes;
        made.inputs = {o.x.stored, o.x.scale, zeroPoint(o.x), o.w.stored, o.w.scale, zeroPoint(o.w), y.scale, zeroPoint(y)};
        if (!o.bias.absent())
            made.inputs.push_back(builder_.addConstant("", o.bias));
        return made;
    }

    Node matMulOf(const QuantisedOperands& o, const std::optional<QuantisedValue>& y) {
        Node made;
        made.op = y ? "QLinearMatMul" : "MatMulIntegerToFloat";
        made.inputs = {o.x.stored, o.x.scale, zeroPoint(o.x), o.w.stored, o.w.scale, zeroPoint(o.w)};
        if (y) {
            made.inputs.insert(made.inputs.end(), {y->scale, zeroPoint(*y)});
        } else {
            inMicrosoft(made);
            made.inputs = {o.x.stored, o.w.stored, o.x.scale, o.w.scale, zeroPoint(o.x), zeroPoint(o.w)};
        }
        return made;
    }

    Node gemmOf(const Node& product, const QuantisedOperands& o, const std::optional<QuantisedValue>& y) {
        Node made;
        made.op = "QGemm";
        inMicrosoft(made);
        made.attributes = {{"transB", product.intAttr("transB", 0)}};
        made.inputs = {o.x.stored, o.x.scale, zeroPoint(o.x), o.w.stored, o.w.scale, zeroPoint(o.w), o.bias.absent() ? ValueId() : builder_.addConstant("", o.bias)};
        if (y)
            made.inputs.insert(made.inputs.end(), {y->scale, zeroPoint(*y)});
        return made;
    }

    void inMicrosoft(Node& node) {
        node.domain = "com.microsoft";
        builder_.setOpset(node.domain, 1);
    }

    const Graph& graph_;
    QuantisedReader reader_;
    GraphBuilder builder_;
    std::vector<bool> done_ = std::vector<bool>(graph_.nodeCount(), false);
};

} // namespace

Result<Graph> quantisedProductsAsIntegerOnes(const Graph& graph) {
    TS_ASSIGN(const Graph folded, foldConstants(graph, FoldOptions::rewriting()));
    return Pass(folded).run();
}

} // namespace tunesmith
