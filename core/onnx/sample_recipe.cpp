// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/sample_recipe.h"

#include <cmath>

namespace tunesmith {

SampleRecipe::SampleRecipe(const std::string& name, std::uint64_t seed) : builder_(name), rng_(seed) {
    builder_.setOpset("", 13);
}

ValueId SampleRecipe::normal(const std::string& name, Shape shape, double deviation) {
    Tensor tensor = Tensor::zeros(DType::f32, std::move(shape));
    for (float& element : tensor.mutableData<float>())
        element = static_cast<float>(rng_.normal() * deviation);
    return constant(name, std::move(tensor));
}

ValueId SampleRecipe::uniform(const std::string& name, std::int64_t count, float low, float high) {
    Tensor tensor = Tensor::zeros(DType::f32, {count});
    for (float& element : tensor.mutableData<float>())
        element = rng_.uniform(low, high);
    return constant(name, std::move(tensor));
}

ValueId SampleRecipe::convNorm(ValueId input, const Conv& conv, const std::string& name, float gain) {
    using Ints = std::vector<std::int64_t>;
    const std::int64_t fanIn = conv.in / conv.groups * conv.kernel * conv.kernel, pad = conv.kernel / 2;
    const ValueId weight =
        normal(name + ".weight", {conv.out, conv.in / conv.groups, conv.kernel, conv.kernel},
               std::sqrt(2.0 / static_cast<double>(fanIn)));
    const ValueId features = op("Conv", {input, weight},
                                {{"dilations", Ints{1, 1}},
                                 {"group", conv.groups},
                                 {"kernel_shape", Ints{conv.kernel, conv.kernel}},
                                 {"pads", Ints{pad, pad, pad, pad}},
                                 {"strides", Ints{conv.stride, conv.stride}}},
                                name);
    const std::string norm = name + ".bn";
    return op("BatchNormalization",
              {features, uniform(norm + ".weight", conv.out, 0.8f * gain, 1.2f * gain),
               uniform(norm + ".bias", conv.out, -0.1f, 0.1f),
               uniform(norm + ".running_mean", conv.out, -0.1f, 0.1f),
               uniform(norm + ".running_var", conv.out, 0.8f, 1.2f)},
              {{"epsilon", 1e-5f}, {"momentum", 0.9f}}, norm);
}

Node SampleRecipe::gemm(ValueId input, std::int64_t in, std::int64_t out, const std::string& name,
                        double gain) {
    Node node;
    node.name = name;
    node.op = "Gemm";
    node.inputs = {input, normal(name + ".weight", {out, in}, std::sqrt(gain / static_cast<double>(in))),
                   uniform(name + ".bias", out, -0.05f, 0.05f)};
    node.attributes = {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", std::int64_t{1}}};
    return node;
}

ValueId SampleRecipe::linear(ValueId input, std::int64_t in, std::int64_t out, const std::string& name,
                             double gain) {
    Node node = gemm(input, in, out, name, gain);
    const ValueId result = builder_.addValue(name);
    node.outputs = {result};
    builder_.addNode(std::move(node));
    return result;
}

Result<Graph> SampleRecipe::finish(ValueId input, std::int64_t in, std::int64_t out,
                                   const std::string& name) {
    Node node = gemm(input, in, out, name, 1.0);
    const ValueId result = builder_.addValue("output", TensorType(DType::f32, Shape{1, out}));
    node.outputs = {result};
    builder_.addNode(std::move(node));
    builder_.setOutputs({result});
    return builder_.build();
}

} // namespace tunesmith
