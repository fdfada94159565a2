// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph_builder.h"

namespace tunesmith {

// Weights that differ from each other, small enough that sums of them stay exact enough.
inline Tensor weightsOf(Shape shape, float seed) {
    Tensor tensor = Tensor::zeros(DType::f32, std::move(shape));
    float x = seed;
    for (float& each : tensor.mutableData<float>())
        each = x = 0.7F * x + (x > 0 ? -0.31F : 0.29F);
    return tensor;
}

// SqueezeNet's modules: a 1x1 and a 3x3 convolution of one tensor, put together.
inline Graph fireModules(int count) {
    GraphBuilder builder("fire");
    builder.setOpset({}, 13);
    ValueId x = builder.addInput("input", TensorType(DType::f32, Shape{1, 8, 9, 9}));
    float seed = 0.1F;
    const auto conv = [&](ValueId data, std::int64_t in, std::int64_t out, std::int64_t kernel) {
        const ValueId w = builder.addConstant({}, weightsOf({out, in, kernel, kernel}, seed += 0.05F)), b = builder.addConstant({}, weightsOf({out}, seed));
        const std::int64_t pad = kernel / 2;
        return builder.add("Relu", {builder.add("Conv", {data, w, b}, {{"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}})});
    };
    for (int i = 0; i < count; ++i) {
        const ValueId squeezed = conv(x, 8, 4, 1);
        x = builder.add("Concat", {conv(squeezed, 4, 4, 1), conv(squeezed, 4, 4, 3)}, {{"axis", std::int64_t(1)}});
    }
    builder.setOutputs({x});
    return std::move(builder.build()).value();
}

// A recurrent cell of eight gates, unrolled.
inline Graph recurrentCell(int steps, std::int64_t width = 16) {
    GraphBuilder builder("cell");
    builder.setOpset({}, 13);
    const ValueId x = builder.addInput("input", TensorType(DType::f32, Shape{1, width}));
    std::vector<ValueId> w;
    for (int i = 0; i < 16; ++i)
        w.push_back(builder.addConstant({}, weightsOf({width, width}, 0.03F * static_cast<float>(i + 1))));
    ValueId h = x;
    for (int step = 0; step < steps; ++step) {
        std::vector<ValueId> gates, pairs;
        for (std::size_t i = 0; i < 8; ++i) {
            const ValueId sum = builder.add("Add", {builder.add("MatMul", {x, w[2 * i]}), builder.add("MatMul", {h, w[2 * i + 1]})});
            gates.push_back(builder.add(i % 2 == 0 ? "Relu" : "Sigmoid", {sum}));
        }
        for (std::size_t i = 0; i < 4; ++i)
            pairs.push_back(builder.add("Tanh", {builder.add("Mul", {gates[2 * i], gates[2 * i + 1]})}));
        h = builder.add("Tanh", {builder.add("Mul", {builder.add("Sigmoid", {builder.add("Add", {pairs[0], pairs[1]})}),
                                                     builder.add("Relu", {builder.add("Add", {pairs[2], pairs[3]})})})});
    }
    builder.setOutputs({h});
    return std::move(builder.build()).value();
}

// Attention's projections, their heads, and what becomes of them.
inline Graph attention(int layers, std::int64_t tokens = 6, std::int64_t heads = 2, std::int64_t width = 8) {
    GraphBuilder builder("attention");
    builder.setOpset({}, 13);
    ValueId x = builder.addInput("input", TensorType(DType::f32, Shape{1, tokens, heads * width}));
    float seed = 0.2F;
    const auto project = [&](ValueId data) {
        const ValueId w = builder.addConstant({}, weightsOf({heads * width, heads * width}, seed += 0.03F)), b = builder.addConstant({}, weightsOf({heads * width}, seed));
        return builder.add("Add", {b, builder.add("MatMul", {data, w})});
    };
    const auto shaped = [&](ValueId value, const std::vector<std::int64_t>& shape) { return builder.add("Reshape", {value, builder.addConstant({}, Tensor::ofInts(shape))}); };
    const auto headsOf = [&](ValueId value, const std::vector<std::int64_t>& perm) { return builder.add("Transpose", {shaped(project(value), {1, tokens, heads, width})}, {{"perm", perm}}); };
    for (int i = 0; i < layers; ++i) {
        const ValueId q = headsOf(x, {0, 2, 1, 3}), k = headsOf(x, {0, 2, 3, 1}), v = headsOf(x, {0, 2, 1, 3});
        const ValueId seen = builder.add("MatMul", {builder.add("Softmax", {builder.add("MatMul", {q, k})}, {{"axis", std::int64_t(-1)}}), v});
        x = builder.add("Add", {x, project(shaped(builder.add("Transpose", {seen}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}), {1, tokens, heads * width}))});
    }
    builder.setOutputs({x});
    return std::move(builder.build()).value();
}

} // namespace tunesmith
