// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "core/base/rng.h"
#include "core/codegen/kernel.h"
#include "core/loops/schedule.h"
#include "core/module/export.h"
#include "core/module/loaded_module.h"
#include "tests/child_process.h"

// QVERIFY for a Result or Status, with its sentence.
#define VERIFY_OK(result) QVERIFY2((result).ok(), (result).ok() ? "" : (result).error().message.c_str())

namespace tunesmith::testing {

inline constexpr std::int64_t kRows = 1000, kInner = 13, kColumns = 33;

inline loops::Program
denseProgram() { // relu(x w + b); the product is a phase of its own and goes through a scratch buffer
    using namespace loops;
    Program program;
    program.name = "dense";
    const auto x = makeTensor("x", DType::f32, {kRows, kInner});
    const auto w = makeTensor("w", DType::f32, {kInner, kColumns});
    const auto b = makeTensor("b", DType::f32, {kColumns});
    program.inputs = {x, w, b};
    program.stages.push_back(
        reduce("product", DType::f32, {kRows, kColumns}, Reduction::sum, {kInner},
               [&](const Indices& i, const Indices& r) {
                   return ReductionBody{load(x, {i[0], r[0]}) * load(w, {r[0], i[1]}), {}};
               }));
    const auto product = program.stages.back().output;
    program.stages.push_back(compute("dense", DType::f32, {kRows, kColumns}, [&](const Indices& i) {
        return max(load(product, i) + load(b, {i[1]}), constantOf(DType::f32, 0));
    }));
    program.outputs = {program.stages.back().output};
    return program;
}

inline loops::Program squareProgram() {
    using namespace loops;
    Program program;
    program.name = "square";
    const auto x = makeTensor("x", DType::f32, {kRows, kColumns});
    program.inputs = {x};
    program.stages.push_back(compute("square", DType::f32, {kRows, kColumns},
                                     [&](const Indices& i) { return load(x, i) * load(x, i); }));
    program.outputs = {program.stages.back().output};
    return program;
}

inline Result<KernelObject> compileRows(const loops::Program& program, const Target& target) {
    loops::Schedule schedule(program);
    for (const loops::Stage& stage : program.stages)
        schedule[stage.output].parallel(schedule[stage.output].axes()[0]);
    TS_ASSIGN(const loops::LoopNest nest, schedule.lower());
    TS_ASSIGN(CompiledKernel compiled, compileKernel(nest, target, {program.name + "_kernel", false}));
    return compiled.kernel;
}

inline Tensor randomTensor(const Shape& shape, std::uint64_t seed) {
    Rng rng(seed);
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    for (float& value : tensor.mutableData<float>())
        value = rng.uniform(-1.0f, 1.0f);
    return tensor;
}

// x -> dense -> (arena) -> square -> y, with 1000 parallel rows of odd size.
inline Result<ModulePlan> samplePlan(const std::string& name = "tiny-net 2", Isa isa = Isa::avx2,
                                     std::uint64_t seed = 7) {
    using Place = PlanBuffer::Place;
    ModulePlan plan;
    plan.name = name;
    plan.target.isa = isa;
    plan.target.threads = 2;
    TS_ASSIGN(KernelObject dense, compileRows(denseProgram(), plan.target));
    TS_ASSIGN(KernelObject square, compileRows(squareProgram(), plan.target));
    const Tensor w = randomTensor({kInner, kColumns}, seed), b = randomTensor({kColumns}, seed + 1);
    const std::int64_t rowBytes = kRows * kColumns * 4, hiddenBytes = (rowBytes + 63) / 64 * 64;
    plan.buffers = {{"x", Place::input, 0, kRows * kInner * 4, ""},
                    {"w", Place::constant, 0, kInner * kColumns * 4, ""},
                    {"b", Place::constant, 1728, kColumns * 4, ""},
                    {"hidden", Place::arena, 0, rowBytes, ""},
                    {"product", Place::arena, hiddenBytes, rowBytes, ""},
                    {"y", Place::output, 0, rowBytes, ""}};
    if (dense.scratchBytes != std::vector<std::int64_t>{rowBytes})
        return internalError("the dense kernel has no scratch buffer");
    plan.kernels = {std::move(dense), std::move(square)};
    plan.steps = {
        {"dense+relu", 0, {0, 1, 2, 3, 4}, 2 * kRows * kInner * kColumns, "dense 1000x13x33", "rows", 0.5},
        {"square", 1, {3, 5}, kRows * kColumns, "square", "", 0}};
    plan.inputs = {{"x:0", DType::f32, {kRows, kInner}, 0}};
    plan.outputs = {{"y", DType::f32, {kRows, kColumns}, 5}};
    plan.constants = {{1, w}, {2, b}};
    plan.arenaBytes = 2 * hiddenBytes;
    plan.weightBytes = 1728 + 192;
    return plan;
}

inline Tensor expectedOutput(const Tensor& x, std::uint64_t seed = 7) {
    const Tensor w = randomTensor({kInner, kColumns}, seed), b = randomTensor({kColumns}, seed + 1);
    Tensor y = Tensor::zeros(DType::f32, {kRows, kColumns});
    for (std::int64_t row = 0; row < kRows; ++row)
        for (std::int64_t column = 0; column < kColumns; ++column) {
            double sum = b.asDouble(column);
            for (std::int64_t k = 0; k < kInner; ++k)
                sum += x.asDouble(row * kInner + k) * w.asDouble(k * kColumns + column);
            sum = std::max(sum, 0.0);
            y.mutableData<float>()[static_cast<std::size_t>(row * kColumns + column)] =
                static_cast<float>(sum * sum);
        }
    return y;
}

inline double largestDifference(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape())
        return 1e30;
    double largest = 0;
    for (std::int64_t i = 0; i < a.count(); ++i)
        largest = std::max(largest, std::abs(a.asDouble(i) - b.asDouble(i)));
    return largest;
}

inline std::filesystem::path pathIn(const QTemporaryDir& folder, const char* name) {
    return std::filesystem::path(folder.path().toStdString()) / name;
}

struct ProgramRun {
    int status = -1;
    QString output, errors;
};

inline ProgramRun runTool(const QString& program, const QStringList& arguments,
                          const std::optional<QStringList>& environment = std::nullopt) {
    ChildProcess process(program, arguments, environment);
    const int status = process.wait();
    return {status, QString::fromUtf8(process.takeOutput()), QString::fromUtf8(process.takeErrors())};
}

} // namespace tunesmith::testing
