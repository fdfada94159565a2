// SPDX-License-Identifier: GPL-3.0-or-later
// Identity, Cast, CastLike.
#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/string_cast.h"

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

Status castTo(InferContext& in, DType type) {
    const DType from = in.type(0).dtype;
    if ((type == DType::string && from == DType::boolean) || (type == DType::boolean && from == DType::string))
        return in.unsupported("casts between strings and bool are not supported");
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

Status castElements(EvalContext& context, DType type) {
    const Tensor& from = context.input(0);
    if (from.type() == type || (from.type() != DType::string && type != DType::string)) {
        context.outputs[0] = from.cast(type);
    } else if (type == DType::string) {
        context.outputs[0] = numbersToText(from);
    } else {
        auto numbers = textToNumbers(from, type);
        if (!numbers.ok())
            return context.error(numbers.error().message);
        context.outputs[0] = std::move(numbers).value();
    }
    return {};
}

// Not as movements are: those see strings as numbers of a table.
Status evalCast(EvalContext& context) {
    return castElements(context, static_cast<DType>(context.node.intAttr("to", 0)));
}

Status evalCastLike(EvalContext& context) { return castElements(context, context.input(1).type()); }

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
    addMovement(list, "Cast", Fusion::elementwise, 6, {1, 1}, inferCast, {}, lowerCast);
    list.back().eval = evalCast;
    addMovement(list, "CastLike", Fusion::elementwise, 15, {2, 2}, inferCastLike, {}, lowerCast);
    list.back().eval = evalCastLike;
}

} // namespace tunesmith::ops
