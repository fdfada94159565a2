// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/plan_object.h"

#include <algorithm>
#include <set>

#include "core/codegen/llvm/data_object.h"
#include "core/module/memory_plan.h"
#include "core/runtime/plan_tables.h"

namespace tunesmith {
namespace {

// The tables below are written word by word.
static_assert(sizeof(TsBuffer) == 3 * 8 && sizeof(TsPhase) == 2 * 8 && sizeof(TsStep) == 7 * 8 &&
              sizeof(TsTensor) == 10 * 8 && sizeof(TsModule) == 20 * 8);

// The instruction set that a module asks for.
struct IsaWords {
    const char* name;
    std::int64_t number;
};

IsaWords isaWords(Isa isa) {
    switch (isa) {
    case Isa::avx2Vnni: return {"AVX2, FMA and AVX-VNNI", TS_ISA_V3 | TS_ISA_AVX_VNNI};
    case Isa::avx512: return {"AVX-512 (x86-64-v4)", TS_ISA_V4};
    case Isa::avx512Vnni: return {"AVX-512 (x86-64-v4) with VNNI", TS_ISA_V4 | TS_ISA_AVX512_VNNI};
    default: return {"AVX2 and FMA (x86-64-v3)", TS_ISA_V3};
    }
}

std::int64_t alignUp(std::int64_t bytes) {
    return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

Status broken(const ModulePlan& plan, const std::string& what) {
    return internalError("the plan of '" + plan.name + "' is broken: " + what);
}

Status checkBuffers(const ModulePlan& plan) {
    for (const PlanBuffer& buffer : plan.buffers) {
        const bool arena = buffer.place == PlanBuffer::Place::arena,
                   constant = buffer.place == PlanBuffer::Place::constant;
        if (buffer.bytes < 0 || buffer.offset < 0)
            return broken(plan, "buffer '" + buffer.name + "' has a negative size or offset");
        if (!arena && !constant)
            continue;
        const std::int64_t limit = arena ? plan.arenaBytes : plan.weightBytes;
        if (buffer.offset % kBufferAlignment != 0 || buffer.bytes > limit || buffer.offset > limit - buffer.bytes)
            return broken(plan, "buffer '" + buffer.name + "' does not lie within its memory");
    }
    for (const PlanConstant& constant : plan.constants) {
        if (constant.buffer >= plan.buffers.size() ||
            plan.buffers[constant.buffer].place != PlanBuffer::Place::constant)
            return broken(plan, "a constant has no buffer");
        if (static_cast<std::int64_t>(constant.packed.byteCount()) > plan.buffers[constant.buffer].bytes)
            return broken(plan,
                          "constant '" + plan.buffers[constant.buffer].name + "' is larger than its buffer");
    }
    return {};
}

Status checkSteps(const ModulePlan& plan) {
    std::set<std::string> names;
    for (const KernelObject& kernel : plan.kernels)
        if (!names.insert(kernel.name).second)
            return broken(plan, "two kernels are called '" + kernel.name + "'");
    for (const PlanStep& step : plan.steps) {
        if (!step.node && step.kernel >= plan.kernels.size())
            return broken(plan, "step '" + step.name + "' has no kernel");
        for (const std::size_t argument : step.arguments)
            if (argument >= plan.buffers.size())
                return broken(plan, "step '" + step.name + "' has an argument without a buffer");
    }
    return {};
}

Status checkTensors(const ModulePlan& plan, const std::vector<PlanTensor>& tensors) {
    for (const PlanTensor& tensor : tensors) {
        const auto count = checkedElementCount(tensor.shape);
        const bool dynamic = tensor.buffer < plan.buffers.size() && plan.buffers[tensor.buffer].place == PlanBuffer::Place::dynamic;
        if (bitSize(tensor.type) == 0)
            return unsupportedError("'" + tensor.name + "' has the type " +
                                    std::string(dtypeName(tensor.type)) +
                                    ", which exported modules cannot take or give");
        if (dynamic)
            continue;
        if (!count || tensor.buffer >= plan.buffers.size() ||
            static_cast<std::int64_t>(storedBytes(tensor.type, *count)) > plan.buffers[tensor.buffer].bytes)
            return broken(plan, "'" + tensor.name + "' does not fit its buffer");
        if (tensor.fallback && (*tensor.fallback >= plan.buffers.size() || plan.buffers[*tensor.fallback].bytes < plan.buffers[tensor.buffer].bytes))
            return broken(plan, "the default value of '" + tensor.name + "' does not fit");
    }
    return {};
}

class Tables {
public:
    Tables() {
        text_.name = "tunesmith_text";
        nodes_.name = "tunesmith_nodes";
        for (const char* name :
             {"buffers", "phases", "steps", "arguments", "inputs", "outputs", "dims", "module"})
            tables_.push_back({std::string("tunesmith_") + name, {}, {}});
    }

    std::vector<DataGlobal> write(const ModulePlan& plan, const std::string& version,
                                  std::uint64_t weightHash) {
        const std::int64_t interfaceBytes = addBuffers(plan);
        const std::vector<std::int64_t> firstPhase = addPhases(plan);
        addSteps(plan, firstPhase);
        addTensors(plan.inputs, kInputs);
        addTensors(plan.outputs, kOutputs);
        addModule(plan, version, interfaceBytes, weightHash);
        std::vector<DataGlobal> globals;
        for (DataGlobal& table : tables_) {
            if (table.words.empty())
                table.words.push_back(0);
            globals.push_back(std::move(table));
        }
        globals.push_back(std::move(text_));
        globals.push_back(std::move(nodes_));
        return globals;
    }

private:
    enum Table { kBuffers, kPhases, kSteps, kArguments, kInputs, kOutputs, kDims, kModule };
    void add(Table table, DataWord word) { tables_[table].words.push_back(std::move(word)); }
    DataWord table(Table which) const { return DataWord::addressOf(tables_[which].name); }
    std::int64_t size(Table which) const { return static_cast<std::int64_t>(tables_[which].words.size()); }

    DataWord text(const std::string& value) {
        const auto offset = static_cast<std::int64_t>(text_.bytes.size());
        text_.bytes += value.substr(0, value.find('\0'));
        text_.bytes += '\0';
        return DataWord::addressOf(text_.name, offset);
    }

    DataWord node(const PlanNode& node) {
        const auto offset = static_cast<std::int64_t>(nodes_.bytes.size());
        nodes_.bytes.append(reinterpret_cast<const char*>(node.graph.data()), node.graph.size());
        return DataWord::addressOf(nodes_.name, offset);
    }

    // Inputs and outputs get their places in a memory of their own; returns its size.
    std::int64_t addBuffers(const ModulePlan& plan) {
        std::int64_t interfaceBytes = 0;
        for (const PlanBuffer& buffer : plan.buffers) {
            const bool own =
                buffer.place == PlanBuffer::Place::input || buffer.place == PlanBuffer::Place::output;
            add(kBuffers, static_cast<std::int64_t>(buffer.place));
            add(kBuffers, own ? interfaceBytes : buffer.offset);
            add(kBuffers, buffer.bytes);
            if (own)
                interfaceBytes += alignUp(buffer.bytes);
        }
        return interfaceBytes;
    }

    std::vector<std::int64_t> addPhases(const ModulePlan& plan) {
        std::vector<std::int64_t> first;
        for (const KernelObject& kernel : plan.kernels) {
            first.push_back(size(kPhases) / 2);
            for (std::size_t i = 0; i < kernel.phaseExtents.size(); ++i) {
                add(kPhases, DataWord::addressOf(kernel.name + "_" + std::to_string(i)));
                add(kPhases, kernel.phaseExtents[i]);
            }
        }
        return first;
    }

    void addSteps(const ModulePlan& plan, const std::vector<std::int64_t>& firstPhase) {
        for (const PlanStep& step : plan.steps) {
            add(kSteps, text(step.name));
            add(kSteps, step.node ? 0 : firstPhase[step.kernel]);
            add(kSteps, step.node ? 0 : static_cast<std::int64_t>(plan.kernels[step.kernel].phaseExtents.size()));
            add(kSteps, size(kArguments));
            add(kSteps, static_cast<std::int64_t>(step.arguments.size()));
            add(kSteps, step.node ? node(*step.node) : DataWord(0));
            add(kSteps, step.node ? static_cast<std::int64_t>(step.node->graph.size()) : 0);
            for (const std::size_t argument : step.arguments)
                add(kArguments, static_cast<std::int64_t>(argument));
        }
    }

    void addTensors(const std::vector<PlanTensor>& tensors, Table which) {
        for (const PlanTensor& tensor : tensors) {
            add(which, text(tensor.name));
            add(which, text(std::string(dtypeName(tensor.type))));
            add(which, DataWord::addressOf(tables_[kDims].name, size(kDims) * 8));
            add(which, static_cast<std::int64_t>(tensor.type));
            add(which, tensor.ranked ? static_cast<std::int64_t>(tensor.shape.size()) : -1);
            const auto count = checkedElementCount(tensor.shape);
            add(which, count && tensor.ranked ? static_cast<std::int64_t>(storedBytes(tensor.type, *count)) : -1);
            add(which, static_cast<std::int64_t>(tensor.buffer));
            add(which, tensor.fallback ? static_cast<std::int64_t>(*tensor.fallback) : -1);
            add(which, tensor.indices.least);
            add(which, tensor.indices.most);
            for (const std::int64_t extent : tensor.shape)
                add(kDims, extent);
        }
    }

    void addModule(const ModulePlan& plan, const std::string& version, std::int64_t interfaceBytes,
                   std::uint64_t weightHash) {
        const IsaWords isa = isaWords(plan.target.isa);
        for (DataWord word :
             {text(version), text(isa.name),
              table(kBuffers), table(kPhases), table(kSteps), table(kArguments), table(kInputs),
              table(kOutputs), hasNodes(plan) ? DataWord::addressOf(kReferenceKernels) : DataWord(0)})
            add(kModule, std::move(word));
        for (const std::int64_t number :
             {isa.number,
              static_cast<std::int64_t>(plan.target.threads), size(kBuffers) / 3, size(kSteps) / 7,
              size(kArguments), size(kInputs) / 10, size(kOutputs) / 10, alignUp(plan.arenaBytes),
              interfaceBytes, plan.weightBytes, static_cast<std::int64_t>(weightHash)})
            add(kModule, number);
    }

    static constexpr const char* kReferenceKernels = "ts_reference_kernels"; // runtime/reference_steps.h

    std::vector<DataGlobal> tables_;
    DataGlobal text_, nodes_;
};

} // namespace

bool hasNodes(const ModulePlan& plan) {
    return std::ranges::any_of(plan.steps, [](const PlanStep& step) { return step.node.has_value(); });
}

Status checkPlan(const ModulePlan& plan) {
    TS_TRY(checkBuffers(plan));
    TS_TRY(checkSteps(plan));
    TS_TRY(checkTensors(plan, plan.inputs));
    return checkTensors(plan, plan.outputs);
}

Result<std::vector<std::byte>> planObject(const ModulePlan& plan, const std::string& version,
                                          std::uint64_t weightHash) {
    return compileData(Tables().write(plan, version, weightHash));
}

} // namespace tunesmith
