// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/app/gui/resnet50.h"
#include "core/onnx/export.h"
#include "core/onnx/sample_recipe.h"

namespace tunesmith {
namespace {

using Ints = std::vector<std::int64_t>;

// Narrow, filter, widen to four times the width, beside a shortcut.
ValueId bottleneck(SampleRecipe& recipe, ValueId input, std::int64_t in, std::int64_t width,
                   std::int64_t stride, const std::string& name) {
    const auto active = [&](ValueId value, const std::string& layer) {
        return recipe.op("Relu", {value}, {}, name + layer);
    };
    ValueId value = active(recipe.convNorm(input, {in, width, 1}, name + ".conv1"), ".relu1");
    value = active(recipe.convNorm(value, {width, width, 3, stride}, name + ".conv2"), ".relu2");
    value = recipe.convNorm(value, {width, 4 * width, 1}, name + ".conv3", 0.5f);
    const ValueId shortcut =
        in == 4 * width ? input
                        : recipe.convNorm(input, {in, 4 * width, 1, stride}, name + ".downsample", 0.7f);
    return active(recipe.op("Add", {value, shortcut}, {}, name + ".add"), ".relu3");
}

Result<Graph> buildResnet50() {
    SampleRecipe recipe("resnet50", 1);
    ValueId value = recipe.builder().addInput("input", TensorType(DType::f32, Shape{1, 3, 224, 224}));
    value = recipe.op("Relu", {recipe.convNorm(value, {3, 64, 7, 2}, "conv1")}, {}, "relu1");
    value = recipe.op("MaxPool", {value},
                      {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}},
                      "maxpool");
    constexpr int kBlocks[] = {3, 4, 6, 3};
    std::int64_t in = 64, width = 64;
    for (int stage = 0; stage < 4; ++stage, width *= 2)
        for (int block = 0; block < kBlocks[stage]; ++block) {
            value = bottleneck(recipe, value, in, width, stage > 0 && block == 0 ? 2 : 1,
                               "layer" + std::to_string(stage + 1) + "." + std::to_string(block));
            in = 4 * width;
        }
    const ValueId pooled = recipe.op("GlobalAveragePool", {value}, {}, "avgpool");
    const ValueId flat = recipe.op("Flatten", {pooled}, {{"axis", std::int64_t{1}}}, "flatten");
    return recipe.finish(flat, in, 1000, "classifier");
}

} // namespace

Status writeResnet50(const std::filesystem::path& file) {
    TS_ASSIGN(const Graph graph, buildResnet50());
    return exportOnnx(graph, file);
}

} // namespace tunesmith
