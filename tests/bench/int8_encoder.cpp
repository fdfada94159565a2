// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/int8_encoder.h"

#include <cmath>

#include "core/base/rng.h"
#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "tests/take.h"

namespace tunesmith::bench {
namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

class Maker {
public:
    explicit Maker(const Int8Encoder& shape) : shape_(shape) {
        builder_.setOpset("", 17);
        builder_.setOpset("com.microsoft", 1);
    }

    Graph run() {
        ValueId value = builder_.addInput("states", TensorType(DType::f32, Shape{1, shape_.tokens, shape_.width}));
        mask_ = builder_.addInput("mask", TensorType(DType::f32, Shape{1, 1, 1, shape_.tokens}));
        for (std::int64_t i = 0; i < shape_.layers; ++i)
            value = layer(value);
        builder_.setOutputs({value});
        return take(inferShapes(take(builder_.build())));
    }

private:
    // Bytes of a value, their scale and zero point.
    struct Quantised {
        ValueId real, bytes, scale, zero;
    };
    struct Weights {
        ValueId bytes, scale, zero;
    };

    ValueId layer(ValueId input) {
        const ValueId normed = norm(input, attention(input));
        return norm(normed, dense(gelu(dense(normed, shape_.width, 4 * shape_.width)), 4 * shape_.width, shape_.width));
    }

    ValueId attention(ValueId input) {
        const Quantised bytes = quantised(input);
        const ValueId query = heads(bytes, {0, 2, 1, 3}), key = heads(bytes, {0, 2, 3, 1}), value = heads(bytes, {0, 2, 1, 3});
        const ValueId scores = op("Div", {op("MatMul", {query, key}), number(std::sqrt(static_cast<float>(shape_.width / shape_.heads)))});
        const ValueId weights = op("Softmax", {op("Add", {scores, mask_})}, {{"axis", std::int64_t{-1}}});
        const ValueId back = op("Transpose", {op("MatMul", {weights, value})}, {{"perm", Ints{0, 2, 1, 3}}});
        return dense(op("Reshape", {back, constant(Tensor::ofInts({1, shape_.tokens, shape_.width}))}), shape_.width, shape_.width);
    }

    ValueId heads(const Quantised& input, const Ints& order) {
        const ValueId projected = denseOf(input, shape_.width, shape_.width);
        const ValueId split = op("Reshape", {projected, constant(Tensor::ofInts({1, shape_.tokens, shape_.heads, shape_.width / shape_.heads}))});
        return op("Transpose", {split}, {{"perm", order}});
    }

    ValueId dense(ValueId input, std::int64_t in, std::int64_t out) {
        if (!shape_.fused)
            return denseOf(quantised(input), in, out);
        const Weights w = weights(in, out);
        return contrib("DynamicQuantizeMatMul", {input, w.bytes, w.scale, w.zero, bias(out)});
    }

    ValueId denseOf(const Quantised& input, std::int64_t in, std::int64_t out) {
        const Weights w = weights(in, out);
        if (shape_.fused)
            return contrib("MatMulIntegerToFloat", {input.bytes, w.bytes, input.scale, w.scale, input.zero, w.zero, bias(out)});
        const ValueId sum = op("Cast", {op("MatMulInteger", {input.bytes, w.bytes, input.zero, w.zero})}, {{"to", std::int64_t{1}}});
        return op("Add", {op("Mul", {sum, op("Mul", {input.scale, w.scale})}), bias(out)});
    }

    Quantised quantised(ValueId x) {
        const ValueId bytes = builder_.add("DynamicQuantizeLinear", {x}, {}, 3);
        const std::vector<ValueId> outputs = builder_.node(NodeId(static_cast<std::int64_t>(builder_.nodeCount()) - 1)).outputs;
        return {x, bytes, outputs[1], outputs[2]};
    }

    ValueId norm(ValueId x, ValueId y) {
        const ValueId scale = uniform(shape_.width, 0.8F, 1.2F), shift = uniform(shape_.width, -0.1F, 0.1F);
        if (shape_.fused)
            return contrib("SkipLayerNormalization", {x, y, scale, shift}, {{"epsilon", 1e-5F}});
        return op("LayerNormalization", {op("Add", {x, y}), scale, shift}, {{"epsilon", 1e-5F}});
    }

    ValueId gelu(ValueId x) {
        if (shape_.fused)
            return contrib("Gelu", {x});
        const ValueId gate = op("Add", {op("Erf", {op("Div", {x, number(std::sqrt(2.0F))})}), number(1)});
        return op("Mul", {op("Mul", {x, gate}), number(0.5F)});
    }

    ValueId op(const char* name, const std::vector<ValueId>& inputs, const Attributes& attributes = {}) { return builder_.add(name, inputs, attributes); }
    ValueId contrib(const char* name, const std::vector<ValueId>& inputs, const Attributes& attributes = {}) {
        Node node;
        node.op = name;
        node.domain = "com.microsoft";
        node.attributes = attributes;
        node.inputs = inputs;
        node.outputs = {builder_.addValue("")};
        const ValueId made = node.outputs[0];
        builder_.addNode(std::move(node));
        return made;
    }

    ValueId constant(Tensor tensor) { return builder_.addConstant("", std::move(tensor)); }
    ValueId number(float value) { return constant(Tensor::scalar(value)); }
    ValueId uniform(std::int64_t count, float low, float high) {
        Tensor tensor = Tensor::zeros(DType::f32, {count});
        for (float& value : tensor.mutableData<float>())
            value = rng_.uniform(low, high);
        return constant(std::move(tensor));
    }
    ValueId bias(std::int64_t count) { return uniform(count, -0.05F, 0.05F); }
    Weights weights(std::int64_t in, std::int64_t out) {
        Tensor tensor = Tensor::zeros(DType::i8, {in, out});
        for (std::byte& byte : tensor.mutableBytes())
            byte = std::byte(static_cast<std::uint8_t>(rng_.below(255)) - 127);
        return {constant(std::move(tensor)), number(1.7F / 127 / std::sqrt(static_cast<float>(in))), constant(Tensor::zeros(DType::i8, {}))};
    }

    const Int8Encoder& shape_;
    GraphBuilder builder_{"encoder"};
    Rng rng_{1};
    ValueId mask_;
};

} // namespace

Graph Int8Encoder::make() const { return Maker(*this).run(); }

} // namespace tunesmith::bench
