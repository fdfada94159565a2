// SPDX-License-Identifier: GPL-3.0-or-later
// Identity, Dropout (as in inference), Cast, CastLike.
#include "core/ops/lowering.h"
#include "core/ops/movement.h"

namespace tunesmith::ops {
namespace {

Status inferIdentity(InferContext& in) {
    in.outputs[0] = in.type(0);
    if (in.isConstant(0))
        in.values[0] = in.constant(0);
    return {};
}

Status evalIdentity(EvalContext& context, const std::vector<TensorType>&) {
    context.outputs[0] = context.input(0);
    return {};
}

Status lowerIdentity(LowerContext& context) {
    context.finish(0, loops::compute("copy", context.outputType(), context.outputShape(),
                                     [&](const loops::Indices& i) { return loops::load(context.inputs[0], i); }));
    return {};
}

// Until opset 9 the mask has the type of the data.
Status inferDropout(InferContext& in) {
    if (in.opset >= 12 && in.has(2)) {
        if (!in.isConstant(2))
            return in.unsupported("whether it trains is not known before the model runs");
        if (in.constant(2).count() == 1 && in.constant(2).asInt(0) != 0 &&
            !(in.isConstant(1) && in.constant(1).count() == 1 && in.constant(1).asDouble(0) == 0))
            return in.unsupported("training mode is not supported");
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
    for (std::byte& byte : mask.mutableBytes())
        byte = std::byte{1};
    return mask.cast(type);
}

Status evalDropout(EvalContext& context, const std::vector<TensorType>& types) {
    context.outputs[0] = context.input(0);
    if (context.wanted(1))
        context.outputs[1] = ones(types[1].dtype, types[1].shape());
    return {};
}

Status lowerDropout(LowerContext& context) {
    TS_TRY(lowerIdentity(context));
    if (context.outputs.size() > 1 && context.node.outputs[1].valid())
        context.finish(1, loops::compute("mask", context.outputType(1), context.outputShape(1),
                                         [&](const loops::Indices&) { return oneOf(context.outputType(1)); }));
    return {};
}

Status castTo(InferContext& in, DType type) {
    if (type == DType::string || in.type(0).dtype == DType::string)
        return in.unsupported("casts of strings are not supported");
    in.outputs[0] = in.type(0);
    in.outputs[0].dtype = type;
    return {};
}

Status inferCast(InferContext& in) {
    const std::int64_t code = in.node.intAttr("to", 0);
    const auto type = code > 0 && code <= 16 ? static_cast<DType>(code) : DType::undefined;
    if (type != DType::string && byteSize(type) == 0)
        return in.unsupported("cannot cast to element type " + std::to_string(code) +
                              (code >= 17 && code <= 20 ? ", floats of 8 bits are not supported" : ""));
    return castTo(in, type);
}

Status inferCastLike(InferContext& in) { return castTo(in, in.type(1).dtype); }

Status evalCast(EvalContext& context, const std::vector<TensorType>& types) {
    context.outputs[0] = context.input(0).cast(types[0].dtype);
    return {};
}

Status lowerCast(LowerContext& context) {
    const DType type = context.outputType();
    lowerElementwise(context, "cast", [&](const loops::Indices& i) {
        const loops::Expr x = read(context.inputs[0], i);
        const DType target = computeType(type);
        return x->type == target ? x : loops::cast(target, x);
    });
    return {};
}

} // namespace

void registerIdentity(OperatorList& list) {
    addMovement(list, "Identity", Fusion::alias, 1, {1, 1}, inferIdentity, evalIdentity, lowerIdentity);
    addMovement(list, "Dropout", Fusion::alias, 1, {1, 3, 2}, inferDropout, evalDropout, lowerDropout);
    addMovement(list, "Cast", Fusion::elementwise, 6, {1, 1}, inferCast, evalCast, lowerCast);
    addMovement(list, "CastLike", Fusion::elementwise, 15, {2, 2}, inferCastLike, evalCast, lowerCast);
}

} // namespace tunesmith::ops
