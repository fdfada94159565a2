// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>

#include "core/schedule/template.h"
#include "tests/core/schedule/one_kernel.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace tunesmith::fuzz {
namespace {

using testing::Case;
using testing::Ints;

const std::array<Target, 2> kTargets{Target{Isa::avx2, "", 1}, Target{Isa::avx512Vnni, "", 2}};

ValueId packedProduct(Case& c) {
    c.builder.setOpset("com.microsoft", 1);
    Node node;
    node.op = "MatMulNBits";
    node.domain = "com.microsoft";
    node.attributes = {{"K", std::int64_t(64)}, {"N", std::int64_t(24)}, {"bits", std::int64_t(4)}, {"block_size", std::int64_t(32)}};
    node.inputs = {c.input({5, 64}), c.builder.addConstant("", Tensor::zeros(DType::u8, {24, 2, 16})), c.weights({48})};
    const ValueId y = c.builder.addValue("y");
    node.outputs = {y};
    c.builder.addNode(std::move(node));
    return y;
}

const std::vector<std::pair<const char*, testing::Recipe>>& kernels() {
    static const std::vector<std::pair<const char*, testing::Recipe>> all{
        {"winograd", [](Case& c) { return c.builder.add("Relu", {c.conv(c.blocked({1, 32, 13, 14}), {48, 32, 3, 3}, {1, 1, 1, 1}, {1, 1})}); }},
        {"few_channels", [](Case& c) { return c.conv(c.blocked({1, 24, 9, 37}), {1, 24, 3, 3}, {1, 1, 1, 1}, {1, 1}); }},
        {"depthwise", [](Case& c) { return c.conv(c.blocked({1, 32, 9, 9}), {32, 1, 3, 3}, {1, 1, 1, 1}, {2, 2}, 32); }},
        {"pool", [](Case& c) { return c.builder.add("AveragePool", {c.blocked({1, 16, 8, 8})}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}}); }},
        {"product", [](Case& c) { return c.builder.add("Relu", {c.builder.add("Add", {c.builder.add("MatMul", {c.input({7, 40}), c.weights({40, 24})}), c.weights({24})})}); }},
        {"bytes", [](Case& c) { return c.builder.add("MatMulInteger", {c.builder.addInput("", TensorType(DType::u8, Shape{5, 64})), c.builder.addConstant("", Tensor::zeros(DType::i8, {64, 24}))}); }},
        {"bits", packedProduct},
        {"rows", [](Case& c) { return c.builder.add("Softmax", {c.input({6, 50})}, {{"axis", std::int64_t(-1)}}); }},
        {"columns", [](Case& c) { return c.builder.add("ReduceMean", {c.input({6, 50})}, {{"axes", Ints{0}}, {"keepdims", std::int64_t(0)}}); }},
        {"transposition", [](Case& c) { return c.builder.add("Transpose", {c.input({5, 19, 20})}, {{"perm", Ints{0, 2, 1}}}); }},
        {"slices", [](Case& c) { return c.builder.add("Concat", {c.builder.add("Slice", {c.input({9, 8}), c.ints({1}), c.ints({8}), c.ints({0}), c.ints({2})}), c.input({3, 8})}, {{"axis", std::int64_t(0)}}); }},
        {"swish", [](Case& c) {
             const ValueId x = c.input({3, 33});
             return c.builder.add("Mul", {x, c.builder.add("Sigmoid", {x})});
         }},
    };
    return all;
}

std::string altered(std::string text, const std::string& from, const std::string& to) { return text.replace(text.find(from), from.size(), to); }

} // namespace

bool workload(std::span<const std::byte> bytes) {
    const auto stored = Workload::deserialize({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    requireSentence(stored);
    if (!stored.ok())
        return false;
    const auto again = Workload::deserialize(stored->serialize());
    require(again.ok() && again->key == stored->key, "a workload is the same when it was written again");
    for (const Target& target : kTargets) {
        const auto space = ScheduleSpace::make(*stored, target);
        requireSentence(space);
        if (!space.ok())
            continue;
        for (const Config& guess : space->guesses())
            require(space->space().validate(guess).ok(), "a guess is a config");
    }
    return true;
}

std::vector<std::pair<std::string, std::string>> workloadSeeds() {
    std::vector<std::pair<std::string, std::string>> seeds;
    for (const auto& [name, recipe] : kernels())
        seeds.emplace_back(name, testing::workloadOf(recipe, kTargets[1]).serialize());
    const auto conversion = conversionWorkload(TensorType(DType::f32, Shape{2, 21, 6, 16}), loops::Layout::rowMajor(4), loops::Layout::blocked(4, 1, 8));
    require(conversion.ok(), "values are converted");
    seeds.emplace_back("conversion", conversion->serialize());
    seeds.emplace_back("damaged_divisor", altered(conversion->serialize(), "[0,1,0]", "[0,0,0]"));
    seeds.emplace_back("damaged_dimension", altered(conversion->serialize(), "[0,1,0]", "[7,1,0]"));
    if (const auto theirs = inSpace(testing::workloadOf(kernels()[4].second, kTargets[1]), SpaceKind::autotvm); theirs.space == SpaceKind::autotvm)
        seeds.emplace_back("autotvm", theirs.serialize());
    return seeds;
}

} // namespace tunesmith::fuzz
