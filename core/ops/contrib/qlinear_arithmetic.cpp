// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/broadcast.h"
#include "core/ops/contrib/qlinear.h"

// QLinearAdd and QLinearMul: a and b are broadcast. Their zero point of the result is added before rounding,
// other than in QuantizeLinear.
namespace tunesmith::ops {
namespace {

using namespace loops;

constexpr QuantisedInput kLeft{0, 1, 2}, kRight{3, 4, 5}, kResult{0, 6, 7};

Status inferQLinearPair(InferContext& in) {
    TS_TRY(checkQuantised(in, kLeft));
    TS_TRY(checkQuantised(in, kRight));
    TS_TRY(requireSameType(in, kLeft.value, kRight.value));
    TS_TRY(checkParameters(in, kLeft.value, kResult));
    in.outputs[0] = TensorType(in.type(kLeft.value).dtype);
    const auto &a = in.type(kLeft.value).dims, &b = in.type(kRight.value).dims;
    if (!a || !b)
        return {};
    in.outputs[0].dims = broadcastDims(*a, *b);
    return in.outputs[0].dims ? Status()
                              : Status(pairError(in, kLeft.value, kRight.value, "cannot be broadcast"));
}

// Calls function(stored a, stored b) -> float, which is rounded.
template <class Function> void forEachPair(EvalContext& context, Function function) {
    visitQuantised(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        mapBroadcast<T, T>(
            context.input(kLeft.value), context.input(kRight.value), context.outputs[0], [&](T a, T b) {
                return saturated<T>(std::nearbyint(function(std::int32_t{a}, std::int32_t{b})));
            });
    });
}

// a * ra + (b * rb + offset), where each product is added without being rounded: ONNX Runtime multiplies and
// adds at once.
Status evalQLinearAdd(EvalContext& context) {
    const ScaleAndZero a = parametersOf(context, kLeft), b = parametersOf(context, kRight),
                       c = parametersOf(context, kResult);
    const float ra = a.scale / c.scale, rb = b.scale / c.scale;
    const float offset =
        static_cast<float>(c.zero) - (ra * static_cast<float>(a.zero) + rb * static_cast<float>(b.zero));
    forEachPair(context, [&](std::int32_t x, std::int32_t y) {
        return std::fma(static_cast<float>(x), ra, std::fma(static_cast<float>(y), rb, offset));
    });
    return {};
}

Status evalQLinearMul(EvalContext& context) {
    const ScaleAndZero a = parametersOf(context, kLeft), b = parametersOf(context, kRight),
                       c = parametersOf(context, kResult);
    const float factor = a.scale * b.scale / c.scale;
    forEachPair(context, [&](std::int32_t x, std::int32_t y) {
        const float product = static_cast<float>((x - a.zero) * (y - b.zero)) * factor;
        return product + static_cast<float>(c.zero);
    });
    return {};
}

Expr storedAt(const LowerContext& context, const QuantisedInput& x, const Indices& i) {
    const TensorRef& tensor = context.inputs[x.value];
    return cast(DType::i32, load(tensor, broadcastIndices(tensor->shape, context.outputShape(), i)));
}

// Code generation makes one instruction of each product and its sum.
Status lowerQLinearAdd(LowerContext& context) {
    const Expr ra = scaleExpr(context, kLeft) / scaleExpr(context, kResult);
    const Expr rb = scaleExpr(context, kRight) / scaleExpr(context, kResult);
    const auto real = [](const Expr& stored) { return cast(DType::f32, stored); };
    const Expr offset =
        real(zeroExpr(context, kResult)) - (roundedProduct(ra, real(zeroExpr(context, kLeft))) +
                                            roundedProduct(rb, real(zeroExpr(context, kRight))));
    lowerElementwise(context, "qlinear_add", [&](const Indices& i) {
        const Expr a = real(storedAt(context, kLeft, i)), b = real(storedAt(context, kRight, i));
        return saturated(context.outputType(), unary(Op::round, a * ra + (b * rb + offset)));
    });
    return {};
}

Status lowerQLinearMul(LowerContext& context) {
    const Expr factor = scaleExpr(context, kLeft) * scaleExpr(context, kRight) / scaleExpr(context, kResult);
    const Expr zero = cast(DType::f32, zeroExpr(context, kResult));
    lowerElementwise(context, "qlinear_mul", [&](const Indices& i) {
        const Expr a = storedAt(context, kLeft, i) - zeroExpr(context, kLeft);
        const Expr b = storedAt(context, kRight, i) - zeroExpr(context, kRight);
        return saturated(context.outputType(), unary(Op::round, roundedProduct(a * b, factor) + zero));
    });
    return {};
}

} // namespace

void registerContribQLinearArithmetic(OperatorList& list) {
    addLowered(list, "QLinearAdd", Fusion::elementwise, {1, 8}, inferQLinearPair, evalQLinearAdd,
               lowerQLinearAdd);
    addLowered(list, "QLinearMul", Fusion::elementwise, {1, 8}, inferQLinearPair, evalQLinearMul,
               lowerQLinearMul);
}

} // namespace tunesmith::ops
