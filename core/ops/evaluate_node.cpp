// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/evaluate_node.h"

#include <algorithm>
#include <map>
#include <new>
#include <stdexcept>

#include "core/base/memory_budget.h"
#include "core/ops/containers.h"
#include "core/ops/expand_control_flow.h"

namespace tunesmith {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

std::string where(const Node& node) { return "node '" + node.name + "' (" + node.op + ")"; }

bool isTensor(const Tensor& value) { return !value.isSequence() && !value.isNothing(); }

// Of an input without elements.
Status checkInput(const Node& node, std::size_t index, const Tensor& input) {
    const auto error = [&](const std::string& what) -> Status { return inputError(where(node) + ": input " + std::to_string(index) + " " + what); };
    if (input.absent())
        return error("has no value");
    if (!isTensor(input))
        return takesContainers(node, index) ? Status() : error("is " + typeOf(input).text() + ", and only tensors are computed");
    return isEndless(typeOf(input)) ? error("is too large: " + typeOf(input).text()) : Status();
}

Status checkInputs(const Node& node, const std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.hasInput(i) && (i >= inputs.size() || inputs[i].count() == 0))
            TS_TRY(checkInput(node, i, i < inputs.size() ? inputs[i] : Tensor()));
    return {};
}

bool isEmpty(const TensorType& type) {
    return type.dims && std::ranges::any_of(*type.dims, [](const Dim& dim) { return dim.extent == 0; }) && type.isStatic();
}

// Whether no kernel is needed: nothing that is wanted has an element, and no body has to run.
bool givesNothing(const Node& node, const std::vector<TensorType>& types) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i].valid() && (!isEmpty(types[i]) || types[i].dtype == DType::undefined))
            return false;
    return !ops::hasBody(node);
}

std::vector<Tensor> emptyOutputs(const Node& node, const std::vector<TensorType>& types) {
    std::vector<Tensor> outputs(node.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (node.outputs[i].valid())
            outputs[i] = Tensor::zeros(types[i].dtype, types[i].shape());
    return outputs;
}

Status checkMemory(const Operator& op, const Node& node, const std::vector<TensorType>& outputs, std::int64_t limit) {
    std::int64_t total = 0;
    for (const TensorType& type : outputs) {
        if (!type.isStatic())
            continue;
        const auto bytes = byteSizeOf(type);
        if (!bytes || *bytes > kMostBytes - total || (limit > 0 && *bytes > limit - total))
            return inputError(where(node) + ": a result of type " + type.text() + " does not fit into memory");
        total += *bytes;
    }
    const bool shares = op.fusion == Fusion::alias; // the bytes of its input
    return shares || total == 0 ? Status() : checkValueMemory(where(node) + ": a result of type " + outputs.front().text(), total);
}

Result<std::vector<TensorType>> concreteTypes(const Operator& op, const Node& node, std::int64_t opset,
                                              const std::vector<Tensor>& inputs) {
    std::vector<TensorType> types;
    for (const Tensor& input : inputs)
        types.push_back(typeOf(input));
    InferContext context(node, opset, std::move(types), inputs);
    context.outputs.resize(node.outputs.size());
    context.values.resize(node.outputs.size());
    if (op.infer)
        TS_TRY(op.infer(context));
    return context.outputs;
}

// Whether a value has as many elements as its shape says; the next kernel reads so many.
bool isWhole(const Tensor& value) { return !isTensor(value) || value.count() == checkedElementCount(value.shape()); }

Status checkResults(const Node& node, const std::vector<TensorType>& types, const std::vector<Tensor>& outputs) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (!node.outputs[i].valid())
            continue;
        if (outputs[i].absent())
            return internalError(where(node) + ": the reference kernel made no output " + std::to_string(i));
        if (!isOfType(outputs[i], types[i]) || !isWhole(outputs[i]))
            return internalError(where(node) + ": the shape rule promised " + types[i].text() + " and the kernel made " +
                                 typeOf(outputs[i]).text());
    }
    return {};
}

Result<std::vector<Tensor>> evaluateUnguarded(const Node& node, std::int64_t opset, const std::vector<Tensor>& inputs,
                                              const EvaluateOptions& options) {
    const Operator* op = findOperator(node.op, node.domain);
    if (!op || !op->eval)
        return unknownOperator(node);
    TS_TRY(checkInputs(node, inputs));
    TS_ASSIGN(const std::vector<TensorType> types, concreteTypes(*op, node, opset, inputs));
    if (std::ranges::any_of(types, &TensorType::nestsTooDeep))
        return inputError(where(node) + ": sequences or optional values lie too deep within each other");
    TS_TRY(checkMemory(*op, node, types, options.memoryLimit));
    if (givesNothing(node, types))
        return emptyOutputs(node, types);
    EvalContext context(node, opset, inputs);
    context.runBody = options.runBody;
    TS_TRY(op->eval(context));
    TS_TRY(checkResults(node, types, context.outputs));
    return std::move(context.outputs);
}

std::string remedyOf(const std::string& domain) {
    static const std::map<std::string, std::string> remedies = {
        {"com.microsoft.nchwc", "its weights lie in the order of the processor that saved the model; save it again with ONNX Runtime's "
                                "optimisation level \"extended\" or lower"},
        {"com.ms.internal.nhwc", "it is in a layout of one execution provider; save the model again with ONNX Runtime's optimisation "
                                 "level \"extended\" or lower, on the CPU"},
        {"ai.onnx.contrib", "it is a tokeniser, decoder or the like of onnxruntime-extensions; do that step outside and give its result "
                            "to a model without it"},
        {"org.pytorch.aten", "it is PyTorch's own and only runs there; export the model again without the fallback to ATen"},
        {"ai.onnx.ml", "trees, encoders and the like of classical machine learning are not computed; cut the model before them"},
    };
    const auto found = remedies.find(domain);
    return found == remedies.end() ? std::string() : found->second;
}

} // namespace

std::int64_t effectiveOpset(const Graph& graph, const std::string& domain) {
    const std::int64_t declared = graph.opset(domain);
    return declared > 0 ? declared : kNewestOpset;
}

std::optional<std::int64_t> walkedElements(Shape shape) {
    std::ranges::replace(shape, 0, 1);
    const auto count = checkedElementCount(shape);
    return count && *count <= (std::int64_t(1) << 57) ? count : std::nullopt;
}

std::optional<std::int64_t> byteSizeOf(const TensorType& type) {
    const auto count = walkedElements(type.shape());
    if (!count)
        return std::nullopt;
    constexpr auto kOfString = static_cast<std::int64_t>(sizeof(std::string));
    return bitSize(type.dtype) > 0 ? static_cast<std::int64_t>(storedBytes(type.dtype, *count)) : *count * kOfString;
}

bool isEndless(const TensorType& type) { return isEmpty(type) && byteSizeOf(type).value_or(kMostBytes) > valueMemoryLimit(); }

Error unknownOperator(const Node& node) {
    const std::string domain = node.domain.empty() ? "" : node.domain + ".", remedy = remedyOf(node.domain);
    return unsupportedError("node '" + node.name + "': the operator " + domain + node.op + " is not supported" +
                            (remedy.empty() ? "" : ": " + remedy));
}

Result<std::vector<Tensor>> evaluateNode(const Node& node, std::int64_t opset, const std::vector<Tensor>& inputs,
                                         const EvaluateOptions& options) {
    try {
        return evaluateUnguarded(node, opset, inputs, options);
    } catch (const OutOfValueMemory& error) {
        return inputError(where(node) + ": " + error.what());
    } catch (const std::bad_alloc&) {
        return inputError(where(node) + ": not enough memory for its results");
    } catch (const std::length_error&) {
        return inputError(where(node) + ": not enough memory for its results");
    }
}

} // namespace tunesmith
