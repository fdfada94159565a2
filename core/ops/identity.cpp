// SPDX-License-Identifier: GPL-3.0-or-later
// Identity, Cast, CastLike.
#include "core/graph/stored_types.h"
#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/quantize.h"
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
    const DType type = dtypeFromNumber(code);
    if (type == DType::undefined)
        return in.unsupported("cannot cast to element type " + std::to_string(code));
    return castTo(in, type);
}

Status inferCastLike(InferContext& in) { return castTo(in, in.type(1).dtype); }

Tensor widened(const Tensor& tensor) { return isStored(tensor.type()) ? widenStored(tensor) : tensor; }

StoreRule storeRule(const Node& node) {
    const std::string rounding = node.stringAttr("round_mode", "up");
    StoreRule rule;
    rule.saturate = node.intAttr("saturate", 1) != 0;
    rule.exponent = rounding == "down"      ? StoreRule::Exponent::down
                    : rounding == "nearest" ? StoreRule::Exponent::nearest
                                            : StoreRule::Exponent::up;
    return rule;
}

Status castElements(EvalContext& context, DType type) {
    const Tensor from = type == DType::string ? widened(context.input(0)) : context.input(0);
    if (isStored(type) && from.type() != DType::string) {
        context.outputs[0] = narrowStored(widened(from), type, storeRule(context.node));
    } else if (from.type() == type || (from.type() != DType::string && type != DType::string)) {
        context.outputs[0] = from.cast(type);
    } else if (type == DType::string) {
        context.outputs[0] = numbersToText(from);
    } else {
        auto numbers = textToNumbers(from, widenedType(type));
        if (!numbers.ok())
            return context.error(numbers.error().message);
        context.outputs[0] = isStored(type) ? narrowStored(*numbers, type, storeRule(context.node)) : std::move(numbers).value();
    }
    return {};
}

// Not as movements are: those see strings as numbers of a table.
Status evalCast(EvalContext& context) {
    return castElements(context, dtypeFromNumber(context.node.intAttr("to", 0)));
}

Status evalCastLike(EvalContext& context) { return castElements(context, context.input(1).type()); }

Status lowerCast(LowerContext& context) {
    const DType type = context.outputType();
    lowerElementwise(context, "cast", [&](const loops::Indices& i) {
        const DType stored = context.type(0).dtype, target = computeType(type);
        const loops::Expr x = isStored(stored) ? decoded(stored, loops::load(context.inputs[0], i)) : read(context.inputs[0], i);
        return x->type == target ? x : loops::cast(target, x);
    });
    return {};
}

Status castUnpacked(ExpandContext& context) {
    if (!isPackedConstant(context) || context.outputType(0).dtype == DType::string || isStored(context.outputType(0).dtype))
        return context.unsupported("its input is no constant of packed elements");
    context.outputs[0] = context.cast(unpackedConstant(context), context.outputType(0).dtype);
    return {};
}

} // namespace

void registerIdentity(OperatorList& list) {
    addMovement(list, "Identity", Fusion::alias, 1, {1, 1}, inferIdentity, evalIdentity, lowerIdentity);
    const LowerableRule computes = [](const OpInputs& in) -> Status {
        const auto target = in.node.op == "Cast" ? dtypeFromNumber(in.node.intAttr("to", 0)) : in.type(1).dtype;
        if (isStored(target) || in.type(0).dtype == DType::f8e8m0)
            return in.unsupported("its element types are not cast by kernels");
        return {};
    };
    addMovement(list, "Cast", Fusion::elementwise, 6, {1, 1}, inferCast, {}, lowerCast, computes);
    list.back().eval = evalCast;
    list.back().expand = castUnpacked;
    addMovement(list, "CastLike", Fusion::elementwise, 15, {2, 2}, inferCastLike, {}, lowerCast, computes);
    list.back().eval = evalCastLike;
    list.back().expand = castUnpacked;
}

} // namespace tunesmith::ops
