// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/runtime/reference_steps.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include "core/graph/graph_codec.h"
#include "core/ops/interpreter.h"

using namespace tunesmith;

// One node of the model, with what it reads and makes as buffers of the plan.
struct ReferenceStep {
    Graph graph;
    std::span<const std::int64_t> inputs, outputs;
    std::vector<std::size_t> lastReads; // dynamic buffers that nobody reads after it
};

struct TsReference {
    TsReference(const TsModule& ofModule, const TsReferenceMemory& memory)
        : module_(ofModule), memory_(memory), steps_(static_cast<std::size_t>(ofModule.step_count)),
          dynamic_(static_cast<std::size_t>(ofModule.buffer_count)) {
        // A result may be much larger than what it comes from, but not without bound.
        constexpr std::int64_t kFloor = std::int64_t(1) << 30, kGrowth = 64;
        options_.memoryLimit = kFloor + kGrowth * (module_.arena_bytes + module_.interface_bytes + module_.weight_bytes);
    }

    Status readSteps() {
        for (std::int64_t i = 0; i < module_.step_count; ++i)
            if (module_.steps[i].node)
                TS_TRY(readStep(module_.steps[i], steps_[static_cast<std::size_t>(i)]));
        findLastReads();
        return {};
    }

    Status run(std::size_t index) {
        const ReferenceStep& step = steps_[index];
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < step.inputs.size(); ++i)
            inputs.push_back(read(step, i));
        TS_ASSIGN(const std::vector<Tensor> outputs, Interpreter(step.graph).run(inputs, options_));
        for (std::size_t i = 0; i < outputs.size(); ++i)
            TS_TRY(write(step, i, outputs[i]));
        for (const std::size_t buffer : step.lastReads)
            dynamic_[buffer] = Tensor();
        return {};
    }

    const Tensor& dynamic(std::int64_t buffer) const { return dynamic_[static_cast<std::size_t>(buffer)]; }

private:
    Status readStep(const TsStep& from, ReferenceStep& step) const {
        const std::span bytes(reinterpret_cast<const std::byte*>(from.node), static_cast<std::size_t>(from.node_bytes));
        const auto find = [this](std::int64_t offset) { return reinterpret_cast<const std::byte*>(memory_.weights) + offset; };
        TS_ASSIGN(step.graph, unpackGraph(bytes, find));
        const std::span arguments(module_.arguments + from.argument_begin, static_cast<std::size_t>(from.argument_count));
        const std::size_t inputs = step.graph.inputs().size();
        if (arguments.size() != inputs + step.graph.outputs().size())
            return internalError(std::string("step '") + from.name + "' has other arguments than its node");
        step.inputs = arguments.first(inputs);
        step.outputs = arguments.subspan(inputs);
        return {};
    }

    void findLastReads() {
        std::vector<bool> kept(dynamic_.size(), false);
        for (std::int64_t i = 0; i < module_.output_count; ++i)
            kept[static_cast<std::size_t>(module_.outputs[i].buffer)] = true;
        for (std::size_t i = steps_.size(); i-- > 0;)
            for (const auto& arguments : {steps_[i].inputs, steps_[i].outputs})
                for (const std::int64_t buffer : arguments)
                    if (isDynamic(buffer) && !kept[static_cast<std::size_t>(buffer)]) {
                        kept[static_cast<std::size_t>(buffer)] = true;
                        steps_[i].lastReads.push_back(static_cast<std::size_t>(buffer));
                    }
    }

    bool isDynamic(std::int64_t buffer) const { return module_.buffers[buffer].place == TS_PLACE_DYNAMIC; }

    Tensor read(const ReferenceStep& step, std::size_t input) const {
        const std::int64_t buffer = step.inputs[input];
        if (isDynamic(buffer))
            return dynamic(buffer);
        const TensorType& type = step.graph.value(step.graph.inputs()[input]).type;
        return Tensor::wrap(type.dtype, type.shape(), static_cast<const std::byte*>(memory_.buffers[buffer]), nullptr);
    }

    Status write(const ReferenceStep& step, std::size_t output, const Tensor& made) {
        const std::int64_t buffer = step.outputs[output];
        if (isDynamic(buffer)) {
            keep(buffer, made);
            return {};
        }
        const Value& value = step.graph.value(step.graph.outputs()[output]);
        if (made.type() != value.type.dtype || made.shape() != value.type.shape())
            return internalError("'" + value.name + "' became " + TensorType(made.type(), made.shape()).text() +
                                 ", and the module was made for " + value.type.text());
        if (made.byteCount() > 0)
            std::memmove(memory_.buffers[buffer], made.bytes().data(), made.byteCount());
        return {};
    }

    // What shares bytes with memory that other steps write to, as a reshaped input does, becomes bytes of its own.
    void keep(std::int64_t buffer, const Tensor& made) {
        Tensor& place = dynamic_[static_cast<std::size_t>(buffer)];
        place = made;
        if (made.type() == DType::string)
            return;
        const auto* begin = reinterpret_cast<const unsigned char*>(made.bytes().data());
        if (begin >= memory_.own && begin < memory_.own + memory_.own_bytes) {
            place = Tensor::zeros(made.type(), made.shape());
            std::memcpy(place.mutableBytes().data(), made.bytes().data(), made.byteCount());
        }
        memory_.buffers[buffer] = const_cast<std::byte*>(place.bytes().data());
    }

    const TsModule& module_;
    TsReferenceMemory memory_;
    RunOptions options_;
    std::vector<ReferenceStep> steps_; // empty graphs where the step is a kernel
    std::vector<Tensor> dynamic_;      // by buffer
};

namespace {

// Runs something that may fail or throw; its words go into a message of C.
template <class Run> bool told(const Run& run, char* message, std::size_t size) {
    try {
        const Status status = run();
        if (!status.ok())
            std::snprintf(message, size, "%s", status.error().message.c_str());
        return status.ok();
    } catch (const std::bad_alloc&) {
        std::snprintf(message, size, "not enough memory");
    } catch (const std::exception& exception) {
        std::snprintf(message, size, "%s", exception.what());
    }
    return false;
}

TsReference* create(const TsModule* module, const TsReferenceMemory* memory, char* message, std::size_t size) {
    std::unique_ptr<TsReference> made;
    const auto make = [&] {
        made = std::make_unique<TsReference>(*module, *memory);
        return made->readSteps();
    };
    return told(make, message, size) ? made.release() : nullptr;
}

void destroy(TsReference* reference) { delete reference; }

int runStep(TsReference* reference, std::int64_t step, char* message, std::size_t size) {
    return told([&] { return reference->run(static_cast<std::size_t>(step)); }, message, size) ? 0 : -1;
}

std::int64_t rankOf(const TsReference* reference, std::int64_t buffer) {
    const Tensor& tensor = reference->dynamic(buffer);
    return tensor.absent() ? -1 : static_cast<std::int64_t>(tensor.rank());
}

const std::int64_t* dimsOf(const TsReference* reference, std::int64_t buffer) {
    return reference->dynamic(buffer).shape().data();
}

std::int64_t bytesOf(const TsReference* reference, std::int64_t buffer) {
    const Tensor& tensor = reference->dynamic(buffer);
    return tensor.absent() ? -1 : static_cast<std::int64_t>(tensor.byteCount());
}

} // namespace

const TsReferenceKernels ts_reference_kernels{create, destroy, runStep, rankOf, dimsOf, bytesOf};
