// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/kernel.h"

#include <algorithm>

#include "core/ops/node_steps.h"

namespace tunesmith::ops {
namespace {

Status checkArity(const OpInputs& in, const Arity& arity) {
    const std::size_t count = in.node.inputs.size();
    if (count > arity.maxInputs)
        return in.error("takes at most " + std::to_string(arity.maxInputs) + " inputs but has " + std::to_string(count));
    for (std::size_t i = 0; i < arity.minInputs; ++i)
        if (!in.has(i))
            return in.error("input " + std::to_string(i) + " is missing");
    const std::size_t outputs = in.node.outputs.size();
    if (outputs == 0 || outputs > arity.maxOutputs)
        return in.error("has " + std::to_string(outputs) + " outputs; at least 1 and at most " +
                        std::to_string(arity.maxOutputs) + " are possible");
    return {};
}

Status inferConcrete(const EvalContext& context, const InferRule& rule, std::vector<TensorType>& outputs) {
    std::vector<TensorType> types;
    for (const Tensor& input : context.inputs)
        types.push_back(input.absent() ? TensorType() : TensorType(input.type(), input.shape()));
    std::vector<Tensor> constants = context.inputs;
    types.resize(std::max(types.size(), context.node.inputs.size()));
    constants.resize(types.size());
    InferContext infer(context.node, context.opset, std::move(types), std::move(constants));
    infer.outputs.resize(context.node.outputs.size());
    TS_TRY(rule(infer));
    outputs = std::move(infer.outputs);
    return {};
}

Status allocate(EvalContext& context, const std::vector<TensorType>& types) {
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (!context.wanted(i))
            continue;
        if (!types[i].isStatic() || types[i].dtype == DType::undefined)
            return context.error("the shape of output " + std::to_string(i) + " cannot be told from the inputs");
        context.outputs[i] = Tensor::zeros(computeType(types[i].dtype), types[i].shape());
    }
    return {};
}

Status runKernel(EvalContext& context, const InferRule& rule, const Kernel& kernel) {
    std::vector<TensorType> types;
    TS_TRY(inferConcrete(context, rule, types));
    std::vector<Tensor> inputs = context.inputs;
    for (Tensor& input : inputs)
        if (!input.absent() && computeType(input.type()) != input.type())
            input = input.cast(DType::f32);
    EvalContext wide(context.node, context.opset, inputs);
    TS_TRY(allocate(wide, types));
    TS_TRY(kernel(wide));
    for (std::size_t i = 0; i < types.size(); ++i)
        if (!wide.outputs[i].absent())
            context.outputs[i] = wide.outputs[i].cast(types[i].dtype);
    return {};
}

} // namespace

DType computeType(DType type) { return type == DType::f16 || type == DType::bf16 ? DType::f32 : type; }

void addOperator(OperatorList& list, const std::string& name, Fusion fusion, std::int64_t sinceOpset, Arity arity,
                 const InferRule& infer, const Kernel& kernel, LowerRule lower, LowerableRule lowerable) {
    const InferRule checked = [arity, infer](InferContext& context) -> Status {
        TS_TRY(checkArity(context, arity));
        return infer(context);
    };
    Operator op;
    op.name = name;
    op.fusion = fusion;
    op.sinceOpset = sinceOpset;
    op.infer = checked;
    op.eval = [checked, kernel](EvalContext& context) { return runKernel(context, checked, kernel); };
    op.lower = std::move(lower);
    op.lowerable = std::move(lowerable);
    if (fusion == Fusion::opaque && !op.lower)
        op.steps = pairSteps;
    list.push_back(std::move(op));
}

} // namespace tunesmith::ops
