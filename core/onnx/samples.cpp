// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/samples.h"

#include "core/onnx/sample_recipe.h"

namespace tunesmith {
namespace {

struct Recipe {
    Sample sample;
    Result<Graph> (*build)(std::uint64_t seed);
};

const std::vector<Recipe>& recipes() {
    static const std::vector<Recipe> list{
        {{"resnet18", "Residual network of 18 layers, 11.7 million parameters, image 1x3x224x224"},
         buildResnet18},
        {{"mobilenet_v2",
          "Inverted residuals with depthwise convolutions, 3.5 million parameters, image 1x3x224x224"},
         buildMobilenetV2},
        {{"encoder", "Transformer encoder of 2 layers, width 128, 2 heads, sequence of 128 tokens"},
         buildEncoder},
        {{"mlp", "Multilayer perceptron 784-512-256-10"}, buildMlp},
    };
    return list;
}

} // namespace

const std::vector<Sample>& sampleModels() {
    static const std::vector<Sample> list = [] {
        std::vector<Sample> samples;
        for (const Recipe& recipe : recipes())
            samples.push_back(recipe.sample);
        return samples;
    }();
    return list;
}

Result<Graph> buildSample(const std::string& name, std::uint64_t seed) {
    std::string known;
    for (const Recipe& recipe : recipes()) {
        if (recipe.sample.name == name)
            return recipe.build(seed);
        known += (known.empty() ? "" : ", ") + recipe.sample.name;
    }
    return inputError("there is no sample model '" + name + "'; there are " + known);
}

} // namespace tunesmith
