// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/quantised_products.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/graph/captures.h"
#include "core/graph/graph_builder.h"
#include "core/ops/dead_code.h"
#include "core/ops/fold_constants.h"

namespace tunesmith {
namespace {

bool isByte(DType type) { return type == DType::u8 || type == DType::i8; }

// A tensor of bytes, and how real numbers are made of it.
struct Bytes {
    ValueId stored, scale, zero;
    DType type = DType::undefined;
    std::int64_t axis = -1; // that scales are along; -1: one for all
};

class Pass {
public:
    explicit Pass(const Graph& graph) : graph_(graph), builder_(graph) {
        for (const auto& node : graph.nodes())
            for (const std::string& name : capturedNames(*node))
                captured_.push_back(name);
    }

    Result<Graph> run() {
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            if (is(node(i), "QuantizeLinear"))
                quantise(NodeId(static_cast<std::int64_t>(i)));
        for (std::size_t i = 0; i < graph_.nodeCount(); ++i)
            if ((is(node(i), "MatMul") || is(node(i), "Gemm")) && !done_[i])
                replace(NodeId(static_cast<std::int64_t>(i)), {}, {});
        TS_ASSIGN(const Graph changed, builder_.build());
        return removeDeadNodes(changed);
    }

private:
    static constexpr std::int64_t kPoolsBytes = 12; // opset of MaxPool

    // What is between a product and its result in bytes: the QuantizeLinear first, the pool among them if any.
    struct Behind {
        std::vector<NodeId> nodes;
        NodeId pool;
    };

    const Node& node(std::size_t i) const { return *graph_.nodes()[i]; }
    static bool is(const Node& node, const char* op) { return node.op == op && node.domain.empty(); }
    const Tensor& constant(ValueId id) const { return graph_.value(id).constant; }
    bool isConstant(const Node& node, std::size_t input) const { return node.hasInput(input) && graph_.value(node.inputs[input]).isConstant(); }
    const TensorType& typeOf(ValueId id) const { return graph_.value(id).type; }

    bool readOnce(ValueId id) const {
        return graph_.consumers(id).size() == 1 && std::ranges::find(graph_.outputs(), id) == graph_.outputs().end() &&
               std::ranges::find(captured_, graph_.value(id).name) == captured_.end();
    }

    // The parameters of a QuantizeLinear or DequantizeLinear; none where they are no floats above 0, or by block.
    std::optional<Bytes> parameters(const Node& node, ValueId stored) const {
        const DType type = typeOf(stored).dtype;
        const bool plain = node.intAttr("block_size", 0) == 0 && node.intAttr("precision", 0) == 0 && node.intAttr("saturate", 1) == 1;
        if (!plain || !typeOf(stored).isStatic() || !isConstant(node, 1) || constant(node.inputs[1]).type() != DType::f32 || (node.hasInput(2) && !isConstant(node, 2)))
            return std::nullopt;
        const auto isGood = [](float scale) { return std::isnormal(scale) && scale > 0; };
        const Tensor& scale = constant(node.inputs[1]);
        if (!std::ranges::all_of(scale.data<float>(), isGood))
            return std::nullopt;
        const auto rank = static_cast<std::int64_t>(typeOf(stored).shape().size());
        const std::int64_t axis = node.intAttr("axis", 1);
        return Bytes{stored, node.inputs[1], node.hasInput(2) ? node.inputs[2] : ValueId(), type, scale.count() == 1 && scale.rank() <= 1 ? -1 : axis < 0 ? axis + rank : axis};
    }

    std::optional<Bytes> bytesOf(ValueId real) const {
        const NodeId producer = graph_.value(real).producer;
        if (!producer.valid() || !is(graph_.node(producer), "DequantizeLinear") || typeOf(real).dtype != DType::f32)
            return std::nullopt;
        return parameters(graph_.node(producer), graph_.node(producer).inputs[0]);
    }

    std::int64_t zeroOf(const Bytes& bytes) const { return bytes.zero.valid() ? constant(bytes.zero).asInt(0) : 0; }
    float scaleOf(const Bytes& bytes, std::int64_t i) const { return constant(bytes.scale).data<float>()[static_cast<std::size_t>(bytes.axis < 0 ? 0 : i)]; }

    // The product that is quantised, with what saturation does in between, and a maximum of windows, which may as well be taken of bytes.
    void quantise(NodeId id) {
        const Node& last = graph_.node(id);
        const auto result = parameters(last, last.outputs[0]);
        if (!result || result->axis >= 0 || !isByte(result->type) || typeOf(last.inputs[0]).dtype != DType::f32)
            return;
        Behind behind{{id}, {}};
        for (ValueId real = last.inputs[0]; readOnce(real) && graph_.value(real).producer.valid(); real = graph_.node(behind.nodes.back()).inputs[0]) {
            const NodeId at = graph_.value(real).producer;
            const Node& node = graph_.node(at);
            if (is(node, "Conv") || is(node, "MatMul") || is(node, "Gemm"))
                return replace(at, behind, result);
            const bool pools = is(node, "MaxPool") && node.outputs.size() == 1 && !behind.pool.valid() && graph_.opset() >= kPoolsBytes;
            if (!pools && !saturates(node, *result))
                return;
            behind.nodes.push_back(at);
            if (pools)
                behind.pool = at;
        }
    }

    // Whether the bounds of a Relu or Clip are the ends of what bytes can say, or beyond.
    bool saturates(const Node& node, const Bytes& result) const {
        const float infinity = std::numeric_limits<float>::infinity();
        float low = -infinity, high = infinity;
        if (is(node, "Relu")) {
            low = 0;
        } else if (is(node, "Clip") && node.attributes.empty() && (!node.hasInput(1) || isConstant(node, 1)) && (!node.hasInput(2) || isConstant(node, 2))) {
            low = node.hasInput(1) ? constant(node.inputs[1]).cast(DType::f32).data<float>()[0] : low;
            high = node.hasInput(2) ? constant(node.inputs[2]).cast(DType::f32).data<float>()[0] : high;
        } else {
            return false;
        }
        const float first = result.type == DType::u8 ? 0 : -128;
        const auto stored = [&](float bound) { return std::nearbyint(bound / scaleOf(result, 0)) + static_cast<float>(zeroOf(result)); };
        return stored(low) <= first && stored(high) >= first + 255;
    }

    // What a product reads: bytes, weights whose scales are along the outputs if anything, and a bias in int32 or none.
    struct Operands {
        Bytes x, w;
        Tensor bias;
    };

    std::optional<Operands> operandsOf(const Node& product) const {
        const auto x = bytesOf(product.inputs[0]), w = bytesOf(product.inputs[1]);
        if (!x || !w || x->axis >= 0 || !isByte(x->type) || !isByte(w->type) || !graph_.value(w->stored).isConstant())
            return std::nullopt;
        const Tensor& weights = constant(w->stored);
        const bool conv = is(product, "Conv"), turned = conv || product.intAttr("transB", 0) != 0;
        if (weights.rank() != (conv ? 4 : 2) || typeOf(x->stored).shape().size() < 2 || (w->axis >= 0 && w->axis != (turned ? 0 : 1)))
            return std::nullopt;
        const std::int64_t outputs = weights.shape()[turned ? 0 : 1];
        Operands operands{*x, *w, {}};
        if (product.hasInput(2)) {
            operands.bias = biasOf(product.inputs[2], *x, *w);
            if (operands.bias.shape() != Shape{outputs})
                return std::nullopt;
        }
        return fits(operands, weights.count() / std::max<std::int64_t>(1, outputs)) ? std::optional(operands) : std::nullopt;
    }

    // A constant as int32 numbers of the scale that products have; absent where it is something else.
    Tensor biasOf(ValueId id, const Bytes& x, const Bytes& w) const {
        const Tensor real = realConstant(id);
        Tensor stored = real.absent() ? Tensor() : Tensor::zeros(DType::i32, real.shape());
        for (std::int64_t i = 0; i < stored.count(); ++i) {
            const float value = real.data<float>()[static_cast<std::size_t>(i)];
            const double scale = static_cast<double>(scaleOf(x, 0)) * scaleOf(w, i), number = std::nearbyint(value / scale);
            if (!(std::abs(number * scale - value) <= 1e-6 * std::abs(value)) || std::abs(number) > std::numeric_limits<std::int32_t>::max())
                return Tensor();
            stored.mutableData<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(number);
        }
        return stored;
    }

    // float32, or int32 that are dequantised.
    Tensor realConstant(ValueId id) const {
        if (graph_.value(id).isConstant())
            return constant(id).type() == DType::f32 && constant(id).rank() == 1 ? constant(id) : Tensor();
        const NodeId producer = graph_.value(id).producer;
        if (!producer.valid() || !is(graph_.node(producer), "DequantizeLinear") || !isConstant(graph_.node(producer), 0))
            return Tensor();
        const auto bytes = parameters(graph_.node(producer), graph_.node(producer).inputs[0]);
        if (!bytes || bytes->type != DType::i32 || bytes->axis > 0 || constant(bytes->stored).rank() != 1 || bytes->zero.valid())
            return Tensor();
        Tensor real = constant(bytes->stored).cast(DType::f32);
        for (std::int64_t i = 0; i < real.count(); ++i)
            real.mutableData<float>()[static_cast<std::size_t>(i)] *= scaleOf(*bytes, i);
        return real;
    }

    // Whether no sum leaves int32, in which floats would go on.
    bool fits(const Operands& operands, std::int64_t products) const {
        std::int64_t largest = 0;
        if (!operands.bias.absent())
            for (const std::int32_t value : operands.bias.data<std::int32_t>())
                largest = std::max(largest, std::abs(std::int64_t{value}));
        return largest + products * 255 * 255 <= std::numeric_limits<std::int32_t>::max();
    }

    // Scales of products in units of the result, or of real numbers, that can be told from 0.
    bool hasFactors(const Operands& operands, const std::optional<Bytes>& result) const {
        const std::int64_t count = constant(operands.w.scale).count();
        for (std::int64_t i = 0; i < count; ++i) {
            const float product = scaleOf(operands.x, 0) * scaleOf(operands.w, i);
            if (!std::isnormal(product) || (result && !std::isnormal(product / scaleOf(*result, 0))))
                return false;
        }
        return true;
    }

    // In the place of the product and of what is behind it.
    void replace(NodeId id, const Behind& behind, const std::optional<Bytes>& result) {
        const Node& product = graph_.node(id);
        const bool gemm = is(product, "Gemm");
        if (gemm && (product.floatAttr("alpha", 1) != 1 || (product.hasInput(2) && product.floatAttr("beta", 1) != 1) || product.intAttr("transA", 0) != 0))
            return;
        const auto operands = operandsOf(product);
        if (!operands || !hasFactors(*operands, result) || typeOf(product.outputs[0]).dtype != DType::f32)
            return;
        done_[id.index()] = true;
        Node made = gemm ? gemmOf(product, *operands, result) : is(product, "Conv") ? convOf(product, *operands, *result) : matMulOf(*operands, result);
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

    ValueId zeroPoint(const Bytes& bytes) { return bytes.zero.valid() ? bytes.zero : builder_.addConstant("", Tensor::zeros(bytes.type, constant(bytes.scale).shape())); }

    Node convOf(const Node& product, const Operands& o, const Bytes& y) {
        Node made;
        made.op = "QLinearConv";
        made.attributes = product.attributes;
        made.inputs = {o.x.stored, o.x.scale, zeroPoint(o.x), o.w.stored, o.w.scale, zeroPoint(o.w), y.scale, zeroPoint(y)};
        if (!o.bias.absent())
            made.inputs.push_back(builder_.addConstant("", o.bias));
        return made;
    }

    Node matMulOf(const Operands& o, const std::optional<Bytes>& y) {
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

    Node gemmOf(const Node& product, const Operands& o, const std::optional<Bytes>& y) {
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
    GraphBuilder builder_;
    std::vector<std::string> captured_; // by bodies of control flow
    std::vector<bool> done_ = std::vector<bool>(graph_.nodeCount(), false);
};

} // namespace

Result<Graph> quantisedProductsAsIntegerOnes(const Graph& graph) {
    TS_ASSIGN(const Graph folded, foldConstants(graph, FoldOptions::rewriting()));
    return Pass(folded).run();
}

} // namespace tunesmith
