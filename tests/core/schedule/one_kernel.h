// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/workload.h"
#include "tests/take.h"

namespace tunesmith::testing {

using Ints = std::vector<std::int64_t>;
inline constexpr std::uint64_t kSeed = 20260101;

// A model of one fused kernel, built by a row of the table.
struct Case {
    GraphBuilder builder{"case"};
    ValueId x;

    ValueId input(const Shape& shape) { return builder.addInput("", TensorType(DType::f32, shape)); }
    ValueId weights(const Shape& shape) {
        Tensor tensor = Tensor::zeros(DType::f32, shape);
        Rng rng(kSeed);
        for (float& value : tensor.mutableData<float>())
            value = rng.uniform(-1.0f, 1.0f);
        return builder.addConstant("", tensor);
    }
    ValueId blocked(const Shape& shape) { // kept as NCHW[x]c, because a convolution makes it
        return conv(input({shape[0], 3, shape[2], shape[3]}), {shape[1], 3, 1, 1}, {0, 0, 0, 0}, {1, 1});
    }
    ValueId number(float value) { return builder.addConstant("", Tensor::scalar(value)); }
    ValueId ints(const Ints& values) { return builder.addConstant("", Tensor::ofInts(values)); }
    ValueId conv(ValueId from, const Shape& shape, const Ints& pads, const Ints& strides, std::int64_t group = 1, const Ints& dilations = {1, 1}) {
        return builder.add("Conv", {from, weights(shape), weights({shape[0]})},
                           {{"pads", pads}, {"strides", strides}, {"group", group}, {"dilations", dilations}});
    }
};

using Recipe = std::function<ValueId(Case&)>;

// The last kernel of the model: rows put at most a producer before it.
inline Workload workloadOf(const Recipe& recipe, const Target& target) {
    Case c;
    c.builder.setOpset("", 17);
    c.builder.setOutputs({recipe(c)});
    const Graph graph = take(inferShapes(take(c.builder.build())));
    const auto groups = groupNodes(graph);
    return take(extractWorkload(graph, groups.back(), chooseLayouts(graph, groups, target))).workload;
}

} // namespace tunesmith::testing
