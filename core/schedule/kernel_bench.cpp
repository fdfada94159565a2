// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/kernel_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unistd.h>

#include "core/base/rng.h"
#include "core/check/equivalence.h"
#include "core/check/random_inputs.h"
#include "core/ops/interpreter.h"

namespace tunesmith {
namespace {

Tensor aroundZero(const Tensor& tensor) {
    Tensor shifted = Tensor::zeros(DType::f32, tensor.shape());
    std::ranges::transform(tensor.data<float>(), shifted.mutableData<float>().begin(),
                           [](float value) { return value - 0.5f; });
    return shifted;
}

// Bytes of all values, the extreme ones often: what sums of their products saturate at.
Tensor wholeRange(const Tensor& tensor, Rng& rng) {
    Tensor drawn = Tensor::zeros(tensor.type(), tensor.shape());
    constexpr std::uint8_t kExtremes[] = {0, 127, 128, 255};
    for (std::byte& byte : drawn.mutableBytes())
        byte = std::byte(rng.chance(0.25) ? kExtremes[rng.below(4)] : static_cast<std::uint8_t>(rng.below(256)));
    return drawn;
}

constexpr std::size_t kMostCopies = 64;

// The cache that a core has for itself.
std::size_t nearCacheBytes() {
    static const long told = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return told > 0 ? static_cast<std::size_t>(told) : std::size_t(1) << 21;
}

// The quick way to a yes; element order does not matter for it. A no may still be a yes for compareTensors.
bool surelyEqual(const Tensor& reference, const Tensor& other) {
    const auto expected = reference.data<float>(), actual = other.data<float>();
    const Tolerance tolerance;
    float scale = 0;
    for (const float value : expected)
        scale = std::max(scale, std::fabs(value)); // a NaN fails below
    const float relative = static_cast<float>(tolerance.relative), absolute = static_cast<float>(tolerance.absolute) * scale;
    bool equal = std::isfinite(scale);
    for (std::size_t i = 0; i < expected.size(); ++i)
        equal &= std::fabs(actual[i] - expected[i]) <= std::max(absolute, relative * std::fabs(expected[i]));
    return equal;
}

} // namespace

Result<std::shared_ptr<const KernelCase>> KernelCase::make(const Workload& workload, std::uint64_t seed) {
    auto made = std::make_shared<KernelCase>();
    const Graph& graph = workload.graph;
    TS_ASSIGN(made->lowered_, lowerWorkload(workload));
    TS_ASSIGN(std::vector<Tensor> inputs, randomInputs(graph, seed));
    Rng rng(seed);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (workload.constantInputs[i] && inputs[i].type() == DType::f32 && inputs[i].rank() >= 2)
            inputs[i] = aroundZero(inputs[i]);
        else if (inputs[i].type() == DType::u8 || inputs[i].type() == DType::i8)
            inputs[i] = wholeRange(inputs[i], rng);
    TS_ASSIGN(made->expected_, Interpreter(graph).run(inputs));
    for (const ValueId id : made->lowered_.arguments) {
        const auto found = std::ranges::find(graph.inputs(), id);
        if (found != graph.inputs().end())
            made->arguments_.push_back(inputs[static_cast<std::size_t>(found - graph.inputs().begin())]);
        else
            made->arguments_.push_back(graph.value(id).constant);
    }
    for (std::size_t i = 0; i < made->expected_.size(); ++i)
        made->expectedPacked_.push_back(loops::pack(made->expected_[i], made->lowered_.outputLayouts[i]));
    made->packed_.resize(made->arguments_.size());
    return std::shared_ptr<const KernelCase>(std::move(made));
}

Tensor KernelCase::packedArgument(std::size_t index, WeightTransform transform, const loops::Layout& layout) const {
    constexpr std::size_t kMostForms = 8;
    auto& known = packed_[index];
    for (const Packed& packed : known)
        if (packed.transform == transform && packed.layout == layout)
            return packed.tensor;
    if (known.size() == kMostForms)
        known.erase(known.begin());
    return known.emplace_back(transform, layout, packConstant(arguments_[index], transform, layout)).tensor;
}

std::string KernelCase::outputDifference(std::size_t index, const Tensor& flat) const {
    const Tensor& packed = expectedPacked_[index];
    const Tensor& expected = expected_[index];
    const bool unpadded = packed.count() == expected.count();
    if (unpadded && flat.type() == DType::f32 && expected.type() == DType::f32 && surelyEqual(packed, flat))
        return {};
    const Tensor actual = loops::unpack(flat, expected.shape(), lowered_.outputLayouts[index]);
    const Difference difference = compareTensors(expected, actual);
    return difference.equal ? std::string()
                            : "output " + std::to_string(index) + " differs from the reference: " + difference.text;
}

Result<std::unique_ptr<BenchKernel>> BenchKernel::load(std::shared_ptr<const KernelCase> kase,
                                                       const KernelPackage& package, BenchMemory memory) {
    const loops::Program& program = kase->lowered().program;
    if (package.argumentLayouts.size() != kase->arguments().size() ||
        package.argumentTransforms.size() != kase->arguments().size() ||
        package.outputLayouts.size() != program.outputs.size())
        return internalError("a kernel arrived whose arguments do not fit its workload");
    if (package.outputLayouts != kase->lowered().outputLayouts)
        return internalError("a kernel arrived whose output layouts are not those of its workload");
    std::unique_ptr<BenchKernel> made(new BenchKernel);
    made->case_ = std::move(kase);
    made->package_ = package;
    TS_ASSIGN(made->kernel_, LoadedKernel::load(package.kernel));
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < package.argumentLayouts.size(); ++i) {
        made->inputs_.push_back(made->case_->packedArgument(i, package.argumentTransforms[i], package.argumentLayouts[i]));
        pointers.push_back(addBuffer(made->buffers_, &made->inputs_.back(), made->inputs_.back().byteCount()));
    }
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
        const std::int64_t count = package.outputLayouts[i].elementCount(program.outputs[i]->shape);
        pointers.push_back(addBuffer(made->buffers_, nullptr, static_cast<std::size_t>(count) * byteSize(program.outputs[i]->type)));
    }
    for (const std::int64_t bytes : package.kernel.scratchBytes)
        pointers.push_back(addBuffer(made->buffers_, nullptr, static_cast<std::size_t>(bytes)));
    made->pointers_.push_back(std::move(pointers));
    if (memory == BenchMemory::asInModule)
        made->copyFarBuffers();
    return made;
}

void BenchKernel::run(const PhaseRunner& runner) {
    runner.run(*kernel_, pointers_[next_].data());
    next_ = (next_ + 1) % pointers_.size();
}

void* BenchKernel::addBuffer(std::vector<GuardedBuffer>& buffers, const Tensor* content, std::size_t bytes) {
    GuardedBuffer& buffer = buffers.emplace_back(bytes);
    if (content && bytes > 0)
        std::memcpy(buffer.data(), content->bytes().data(), bytes);
    return buffer.data();
}

void BenchKernel::copyFarBuffers() {
    std::size_t bytes = 0;
    const auto isFar = [&](std::size_t i) { return i >= inputs_.size() || case_->lowered().constantArguments[i]; };
    for (std::size_t i = 0; i < buffers_.size(); ++i)
        bytes += isFar(i) ? buffers_[i].size() : 0;
    while (pointers_.size() < kMostCopies && pointers_.size() * bytes < 2 * nearCacheBytes()) {
        std::vector<void*> pointers = pointers_[0];
        for (std::size_t i = 0; i < buffers_.size(); ++i)
            if (isFar(i))
                pointers[i] = addBuffer(copies_, i < inputs_.size() ? &inputs_[i] : nullptr, buffers_[i].size());
        pointers_.push_back(std::move(pointers));
    }
}

bool BenchKernel::intact() const {
    const auto isIntact = [](const GuardedBuffer& buffer) { return buffer.intact(); };
    return std::ranges::all_of(buffers_, isIntact) && std::ranges::all_of(copies_, isIntact);
}

std::string BenchKernel::check(const PhaseRunner& runner) {
    const std::size_t inputs = case_->arguments().size();
    for (std::size_t i = inputs; i < buffers_.size(); ++i)
        buffers_[i].poison();
    next_ = 0; // the buffers that are looked at below
    run(runner);
    if (!intact())
        return "the kernel writes outside its buffers";
    for (std::size_t i = 0; i < inputs; ++i)
        if (const auto bytes = inputs_[i].bytes(); !std::equal(bytes.begin(), bytes.end(), buffers_[i].data()))
            return "the kernel overwrites its input " + std::to_string(i);
    return outputDifference();
}

std::string BenchKernel::outputDifference() const {
    const loops::Program& program = case_->lowered().program;
    const std::size_t inputs = case_->arguments().size();
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
        const auto& output = program.outputs[i];
        const std::int64_t count = package_.outputLayouts[i].elementCount(output->shape);
        const Tensor flat = Tensor::wrap(output->type, {count}, buffers_[inputs + i].data(), nullptr);
        if (std::string text = case_->outputDifference(i, flat); !text.empty())
            return text;
    }
    return {};
}

} // namespace tunesmith
