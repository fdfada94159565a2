// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTest>

#include "core/graph/graph_builder.h"
#include "core/ops/infer_shapes.h"
#include "core/schedule/kernel_workers.h"
#include "core/schedule/schedule_problem.h"
#include "tests/take.h"

namespace tunesmith::testing {

inline Workload onlyWorkload(GraphBuilder& builder, const Target& target) {
    const Graph graph = take(inferShapes(take(builder.build())));
    const auto groups = groupNodes(graph);
    return take(extractWorkload(graph, groups.at(0), chooseLayouts(graph, groups, target))).workload;
}

// Conv (3x3, padded) + Relu on 1 x channels x 14 x 14, as it is cut from a model.
inline Workload convWorkload(const Target& target, std::int64_t channels = 16, std::int64_t size = 14) {
    GraphBuilder builder("conv");
    builder.setOpset("", 17);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{1, channels, size, size}));
    const ValueId w = builder.addConstant("w", Tensor::zeros(DType::f32, {32, channels, 3, 3}));
    const ValueId b = builder.addConstant("b", Tensor::zeros(DType::f32, {32}));
    const ValueId conv = builder.add("Conv", {x, w, b}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    builder.setOutputs({builder.add("Relu", {conv})});
    return onlyWorkload(builder, target);
}

inline Workload reluWorkload(const Target& target, std::int64_t rows) {
    GraphBuilder builder("relu");
    builder.setOpset("", 17);
    const ValueId x = builder.addInput("x", TensorType(DType::f32, Shape{rows, 16}));
    builder.setOutputs({builder.add("Relu", {x})});
    return onlyWorkload(builder, target);
}

inline KernelWorkerOptions testWorkers(std::map<std::string, std::string> environment = {}) {
    KernelWorkerOptions options;
    options.worker.executable = TEST_WORKER;
    options.worker.environment = std::move(environment);
    options.measureMs = 5;
    return options;
}

} // namespace tunesmith::testing
