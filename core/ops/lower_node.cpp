// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/lower_node.h"

#include <algorithm>

#include "core/graph/derived_name.h"
#include "core/ops/containers.h"
#include "core/ops/evaluate_node.h"

namespace tunesmith {
namespace {

// Loops say with an expression for each operand, each within the next, what a Concat or Sum of many computes, and with a stage for each
// what a Split gives.
constexpr std::size_t kMostOperands = 256;

Status checkStatic(const Graph& graph, const std::vector<ValueId>& ids, const LowerContext& context) {
    for (const ValueId id : ids) {
        if (!id.valid())
            continue;
        const Value& value = graph.value(id);
        if (!value.type.isStatic())
            return context.unsupported("the shape of '" + value.name + "' is not known: " + value.type.text());
        if (isEndless(value.type))
            return context.unsupported("'" + value.name + "' is too large: " + value.type.text());
        if (byteSize(value.type.dtype) == 0)
            return context.unsupported("'" + value.name + "' is of type " + std::string(dtypeName(value.type.dtype)));
    }
    return {};
}

Status prepare(const Graph& graph, const Node& node, const LowerContext& context) {
    const Operator* op = findOperator(node.op, node.domain);
    if (!op)
        return unknownOperator(node);
    if (!op->lower)
        return context.unsupported("the operator is not compiled to loops");
    if (const std::size_t count = std::max(node.inputs.size(), node.outputs.size()); count > kMostOperands)
        return context.unsupported("it has " + std::to_string(count) + " inputs or outputs, and a kernel at most " + std::to_string(kMostOperands));
    TS_TRY(checkStatic(graph, node.inputs, context));
    TS_TRY(checkStatic(graph, node.outputs, context));
    return op->lowerable ? op->lowerable(context) : Status();
}

// Of all outputs, also of those that are left out: rules may be written in terms of the first.
Result<std::vector<TensorType>> outputTypes(const Graph& graph, const Node& node, const LowerContext& context) {
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs)
        types.push_back(output.valid() ? graph.value(output).type : TensorType());
    if (std::ranges::all_of(node.outputs, [](ValueId output) { return output.valid(); }))
        return types;
    InferContext inferred(graph, node);
    inferred.outputs.resize(node.outputs.size());
    inferred.values.resize(node.outputs.size());
    TS_TRY(findOperator(node.op, node.domain)->infer(inferred));
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (!node.outputs[i].valid())
            types[i] = inferred.outputs[i];
        if (!types[i].isStatic() || byteSize(types[i].dtype) == 0)
            return context.unsupported("what an output is that nobody reads is not known");
    }
    return types;
}

} // namespace

Result<loops::Program> lowerNode(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    LowerContext context(graph, node);
    if (const Status computable = checkComputable(graph, id); !computable.ok())
        return unsupportedError(computable.error().message);
    TS_TRY(prepare(graph, node, context));
    loops::Program program;
    program.name = shortName(node.name);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorType type = context.type(i);
        context.inputs.push_back(
            node.hasInput(i) ? loops::makeTensor(shortName(graph.value(node.inputs[i]).name), type.dtype, type.shape()) : nullptr);
        if (context.inputs.back())
            program.inputs.push_back(context.inputs.back());
    }
    TS_ASSIGN(context.outputTypes, outputTypes(graph, node, context));
    context.outputs.resize(node.outputs.size());
    TS_TRY(findOperator(node.op, node.domain)->lower(context));
    program.stages = std::move(context.stages);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i].valid())
            program.outputs.push_back(context.outputs[i]);
    return program;
}

Status checkComputable(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const Operator* op = findOperator(node.op, node.domain);
    if (!op || !op->eval)
        return unknownOperator(node);
    const auto refuse = [&](const Value& value) {
        return unsupportedError("node '" + node.name + "' (" + node.op + "): '" + value.name + "' is " + value.type.text() + ", and only tensors are computed");
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.hasInput(i) && graph.value(node.inputs[i]).type.opaque && !takesContainers(node, i))
            return refuse(graph.value(node.inputs[i]));
    for (const ValueId output : node.outputs)
        if (output.valid() && graph.value(output).type.opaque && !takesContainers(node))
            return refuse(graph.value(output));
    InferContext context(graph, node);
    context.outputs.resize(node.outputs.size());
    context.values.resize(node.outputs.size());
    return op->infer ? op->infer(context) : Status();
}

Status checkLowerable(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    LowerContext context(graph, node);
    return prepare(graph, node, context);
}

} // namespace tunesmith
