// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTest>
#include <cstring>

#include "core/base/rng.h"
#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/codegen/kernel.h"
#include "core/graph/graph_builder.h"
#include "core/module/build.h"
#include "core/module/plan.h"
#include "core/ops/interpreter.h"
#include "tests/take.h"

namespace tunesmith::testing {

using Ints = std::vector<std::int64_t>;

inline Tensor randomTensor(const Shape& shape, std::uint64_t seed, float low = -1.0f) {
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    Rng rng(seed);
    for (float& value : tensor.mutableData<float>())
        value = rng.uniform(low, 1.0f);
    return tensor;
}

// Runs a plan in this process, one step after the other, with the arena and the outputs full of NaN before.
inline std::vector<Tensor> runPlan(const ModulePlan& plan, const std::vector<Tensor>& inputs) {
    std::vector<std::unique_ptr<LoadedKernel>> kernels;
    for (const KernelObject& kernel : plan.kernels)
        kernels.push_back(take(LoadedKernel::load(kernel)));
    Tensor arena = Tensor::zeros(DType::u8, {plan.arenaBytes + 64});
    std::memset(arena.mutableBytes().data(), 0xff, arena.byteCount());
    std::vector<Tensor> copies = inputs, outputs;
    for (const PlanTensor& output : plan.outputs) {
        outputs.push_back(Tensor::zeros(output.type, output.shape));
        std::memset(outputs.back().mutableBytes().data(), 0xff, outputs.back().byteCount());
    }
    std::vector<void*> memory(plan.buffers.size(), nullptr);
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
        const PlanBuffer& buffer = plan.buffers[i];
        const auto place = static_cast<std::size_t>(buffer.offset);
        if (buffer.place == PlanBuffer::Place::arena)
            memory[i] = arena.mutableBytes().data() + place;
        else if (buffer.place == PlanBuffer::Place::input)
            memory[i] = copies[place].mutableBytes().data();
        else if (buffer.place == PlanBuffer::Place::output)
            memory[i] = outputs[place].mutableBytes().data();
    }
    for (const PlanConstant& constant : plan.constants)
        memory[constant.buffer] = const_cast<std::byte*>(constant.packed.bytes().data());
    for (const PlanStep& step : plan.steps) {
        std::vector<void*> arguments;
        for (const std::size_t argument : step.arguments)
            arguments.push_back(memory[argument]);
        kernels[step.kernel]->run(arguments.data());
    }
    return outputs;
}

// Builds the model for a target and compares what the plan computes with the reference engine.
inline void compareWithReference(const Graph& model, const Target& target) {
    const Graph prepared = take(prepareGraph(model));
    BuildOptions options;
    options.target = target;
    const ModulePlan plan = take(buildModule(prepared, options));
    for (const PlanBuffer& buffer : plan.buffers)
        if (buffer.place == PlanBuffer::Place::arena)
            QCOMPARE(buffer.offset % 64, std::int64_t{0});
    const auto inputs = take(randomInputs(model, 3));
    const auto expected = take(Interpreter(model).run(inputs));
    const Status same = requireEquivalent(expected, runPlan(plan, inputs));
    QVERIFY2(same.ok(), same.ok() ? "" : same.error().message.c_str());
}

struct Net {
    GraphBuilder builder{"net"};
    std::uint64_t seed = 1;
    Net() { builder.setOpset("", 17); }
    ValueId constant(const Shape& shape) { return builder.addConstant("", randomTensor(shape, ++seed)); }
    ValueId conv(ValueId x, std::int64_t from, std::int64_t to) {
        return builder.add("Conv", {x, constant({to, from, 3, 3}), constant({to})}, {{"pads", Ints{1, 1, 1, 1}}});
    }
    ValueId image(std::int64_t channels) { return builder.addInput("x", TensorType(DType::f32, Shape{1, channels, 6, 6})); }
    ValueId concat(const std::vector<ValueId>& values) { return builder.add("Concat", values, {{"axis", std::int64_t{1}}}); }
};

} // namespace tunesmith::testing
