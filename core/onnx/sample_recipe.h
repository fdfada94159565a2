// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/graph/graph_builder.h"

namespace tunesmith {

// What the recipes share: a builder, a random stream and layers with fresh weights. Names are "layer.weight"
// and so on.
class SampleRecipe {
public:
    SampleRecipe(const std::string& name, std::uint64_t seed);

    GraphBuilder& builder() { return builder_; }
    ValueId op(const std::string& type, const std::vector<ValueId>& inputs,
               std::map<std::string, Attribute> attributes, const std::string& name) {
        return builder_.add(type, inputs, std::move(attributes), 1, name);
    }
    ValueId constant(const std::string& name, Tensor tensor) {
        return builder_.addConstant(name, std::move(tensor));
    }
    ValueId normal(const std::string& name, Shape shape, double deviation);
    ValueId uniform(const std::string& name, std::int64_t count, float low, float high);

    struct Conv {
        std::int64_t in, out, kernel, stride = 1, groups = 1;
    };
    // Conv without bias, padded to keep the size at stride 1, and BatchNormalization whose scale is around
    // `gain`.
    ValueId convNorm(ValueId input, const Conv& conv, const std::string& name, float gain = 1);
    // Weight [out, in] and bias, as Gemm with transB.
    ValueId linear(ValueId input, std::int64_t in, std::int64_t out, const std::string& name, double gain);
    // The last layer, whose result [1, out] is the output of the model.
    Result<Graph> finish(ValueId input, std::int64_t in, std::int64_t out, const std::string& name);

private:
    Node gemm(ValueId input, std::int64_t in, std::int64_t out, const std::string& name, double gain);
    GraphBuilder builder_;
    Rng rng_;
};

Result<Graph> buildResnet18(std::uint64_t seed);
Result<Graph> buildMobilenetV2(std::uint64_t seed);
Result<Graph> buildEncoder(std::uint64_t seed);
Result<Graph> buildMlp(std::uint64_t seed);

} // namespace tunesmith
