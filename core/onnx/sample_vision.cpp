// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>

#include "core/onnx/sample_recipe.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

Result<Graph> classifier(SampleRecipe& recipe, ValueId features, std::int64_t channels) {
    const ValueId pooled = recipe.op("GlobalAveragePool", {features}, {}, "avgpool");
    const ValueId flat = recipe.op("Flatten", {pooled}, {{"axis", std::int64_t{1}}}, "flatten");
    return recipe.finish(flat, channels, 1000, "classifier");
}

// ResNet's basic block: two 3x3 convolutions beside a shortcut.
ValueId basicBlock(SampleRecipe& recipe, ValueId input, std::int64_t in, std::int64_t out,
                   std::int64_t stride, const std::string& name) {
    const ValueId first = recipe.convNorm(input, {in, out, 3, stride}, name + ".conv1");
    const ValueId active = recipe.op("Relu", {first}, {}, name + ".relu1");
    const ValueId second =
        recipe.convNorm(active, {out, out, 3}, name + ".conv2", 0.5f); // so that the sum does not grow
    const ValueId shortcut =
        in == out ? input : recipe.convNorm(input, {in, out, 1, stride}, name + ".downsample", 0.7f);
    return recipe.op("Relu", {recipe.op("Add", {second, shortcut}, {}, name + ".add")}, {}, name + ".relu2");
}

class Mobilenet {
public:
    explicit Mobilenet(SampleRecipe& recipe)
        : recipe_(recipe), low_(recipe.constant("relu6.min", Tensor::scalar(0.0f))),
          high_(recipe.constant("relu6.max", Tensor::scalar(6.0f))) {}

    ValueId convNormRelu6(ValueId input, const SampleRecipe::Conv& conv, const std::string& name) {
        return recipe_.op("Clip", {recipe_.convNorm(input, conv, name), low_, high_}, {}, name + ".relu6");
    }

    // The inverted residual: widen, filter each channel, narrow without an activation.
    ValueId block(ValueId input, std::int64_t in, std::int64_t out, std::int64_t stride,
                  std::int64_t expansion, const std::string& name) {
        const std::int64_t wide = in * expansion;
        ValueId value = input;
        if (expansion != 1)
            value = convNormRelu6(value, {in, wide, 1}, name + ".expand");
        value = convNormRelu6(value, {wide, wide, 3, stride, wide}, name + ".depthwise");
        const bool residual = stride == 1 && in == out;
        value = recipe_.convNorm(value, {wide, out, 1}, name + ".project", residual ? 0.5f : 1.0f);
        return residual ? recipe_.op("Add", {input, value}, {}, name + ".add") : value;
    }

private:
    SampleRecipe& recipe_;
    ValueId low_, high_;
};

} // namespace

Result<Graph> buildResnet18(std::uint64_t seed) {
    SampleRecipe recipe("resnet18", seed);
    ValueId value = recipe.builder().addInput("input", TensorType(DType::f32, Shape{1, 3, 224, 224}));
    value = recipe.op("Relu", {recipe.convNorm(value, {3, 64, 7, 2}, "conv1")}, {}, "relu1");
    value = recipe.op("MaxPool", {value},
                      {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}},
                      "maxpool");
    constexpr std::array<std::int64_t, 4> kWidths{64, 128, 256, 512};
    std::int64_t in = 64;
    for (std::size_t stage = 0; stage < kWidths.size(); ++stage)
        for (int block = 0; block < 2; ++block) {
            const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
            value = basicBlock(recipe, value, in, kWidths[stage], stride,
                               "layer" + std::to_string(stage + 1) + "." + std::to_string(block));
            in = kWidths[stage];
        }
    return classifier(recipe, value, in);
}

Result<Graph> buildMobilenetV2(std::uint64_t seed) {
    struct Stage {
        std::int64_t expansion, channels, repeats, stride;
    };
    constexpr std::array<Stage, 7> kStages{{{1, 16, 1, 1},
                                            {6, 24, 2, 2},
                                            {6, 32, 3, 2},
                                            {6, 64, 4, 2},
                                            {6, 96, 3, 1},
                                            {6, 160, 3, 2},
                                            {6, 320, 1, 1}}};
    SampleRecipe recipe("mobilenet_v2", seed);
    ValueId value = recipe.builder().addInput("input", TensorType(DType::f32, Shape{1, 3, 224, 224}));
    Mobilenet net(recipe);
    value = net.convNormRelu6(value, {3, 32, 3, 2}, "features.0");
    std::int64_t in = 32;
    int index = 1;
    for (const Stage& stage : kStages)
        for (std::int64_t i = 0; i < stage.repeats; ++i) {
            value = net.block(value, in, stage.channels, i == 0 ? stage.stride : 1, stage.expansion,
                              "features." + std::to_string(index++));
            in = stage.channels;
        }
    value = net.convNormRelu6(value, {in, 1280, 1}, "features.18");
    return classifier(recipe, value, 1280);
}

} // namespace tunesmith
