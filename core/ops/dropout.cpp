// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/random.h"
#include "core/ops/rules.h"

// Dropout: in inference the data as they are; in training each element is left out with a probability of `ratio`, and the
// others grow so that the expected sum stays. Until opset 11 the mode is the runtime's, and ours is inference.
namespace tunesmith::ops {
namespace {

bool hasMode(const OpInputs& in) { return in.opset >= 12 && in.has(2); }

// Until opset 9 the mask has the type of the data.
Status inferDropout(InferContext& in) {
    for (std::size_t i = 1; in.opset >= 12 && i < 3; ++i) {
        if (!in.has(i))
            continue;
        TS_TRY(i == 1 ? requireFloat(in, i) : requireType(in, i, [](DType type) { return type == DType::boolean; }, "bool"));
        if (in.type(i).isStatic() && elementCount(in.type(i).shape()) != 1)
            return in.error("its " + std::string(i == 1 ? "ratio" : "training mode") + " must be a single value, not " +
                            in.type(i).text());
    }
    in.outputs[0] = in.type(0);
    if (in.outputs.size() > 1) {
        in.outputs[1] = in.type(0);
        in.outputs[1].dtype = in.opset >= 10 ? DType::boolean : in.type(0).dtype;
    }
    return {};
}

Tensor ones(DType type, const Shape& shape) {
    Tensor mask = Tensor::zeros(DType::boolean, shape);
    std::ranges::fill(mask.mutableBytes(), std::byte{1});
    return mask.cast(type);
}

// The share of elements that is left out; 0 in inference.
double ratioOf(const EvalContext& context) {
    if (context.opset < 12 || !context.has(2) || context.input(2).asInt(0) == 0)
        return 0;
    return context.has(1) ? context.input(1).asDouble(0) : 0.5;
}

Status evalTraining(EvalContext& context, const std::vector<TensorType>& types, double ratio) {
    Rng rng = rngOf(context.node);
    const double scale = 1 / (1 - ratio);
    const Tensor x = context.input(0).cast(DType::f64);
    Tensor result = Tensor::zeros(DType::f64, x.shape()), kept = Tensor::zeros(DType::boolean, x.shape());
    const auto mask = kept.mutableData<bool>();
    std::size_t i = 0;
    for (double& value : result.mutableData<double>()) {
        mask[i] = !rng.chance(ratio);
        value = mask[i] ? x.data<double>()[i] * scale : 0;
        ++i;
    }
    context.outputs[0] = result.cast(types[0].dtype);
    if (context.wanted(1))
        context.outputs[1] = kept.cast(types[1].dtype);
    return {};
}

Status evalDropout(EvalContext& context, const std::vector<TensorType>& types) {
    const double ratio = ratioOf(context);
    if (!(ratio >= 0 && ratio < 1))
        return context.error("its ratio must be at least 0 and below 1, not " + std::to_string(ratio));
    if (ratio > 0)
        return evalTraining(context, types, ratio);
    context.outputs[0] = context.input(0);
    if (context.wanted(1))
        context.outputs[1] = ones(types[1].dtype, types[1].shape());
    return {};
}

Status lowerDropout(LowerContext& context) {
    context.finish(0, loops::compute("copy", context.outputType(), context.outputShape(),
                                     [&](const loops::Indices& i) { return loops::load(context.inputs[0], i); }));
    if (context.outputs.size() > 1 && context.node.outputs[1].valid())
        context.finish(1, loops::compute("mask", context.outputType(1), context.outputShape(1),
                                         [&](const loops::Indices&) { return oneOf(context.outputType(1)); }));
    return {};
}

Status dropoutLowerable(const OpInputs& in) {
    if (!hasMode(in))
        return {};
    if (!in.isConstant(2))
        return in.unsupported("whether it trains is not known before the model runs");
    if (in.constant(2).asInt(0) != 0 && !(in.isConstant(1) && in.constant(1).asDouble(0) == 0))
        return in.unsupported("training mode is not compiled");
    return {};
}

} // namespace

void registerDropout(OperatorList& list) {
    addMovement(list, "Dropout", Fusion::alias, 1, {1, 3, 2}, inferDropout, evalDropout, lowerDropout, dropoutLowerable);
    list.back().deterministic = false;
}

} // namespace tunesmith::ops
