// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/qlinear.h"

#include <algorithm>

namespace tunesmith::ops {

using namespace loops;

Status checkQuantised(const OpInputs& in, const QuantisedInput& x) {
    TS_TRY(requireInputs(in, {x.value}));
    TS_TRY(requireType(in, x.value, isByte, "int8 or uint8"));
    return checkParameters(in, x.value, x);
}

Status checkParameters(const OpInputs& in, std::size_t value, const QuantisedInput& result) {
    TS_TRY(requireInputs(in, {result.scale}));
    TS_TRY(requireFloat(in, result.scale));
    TS_TRY(requireOneElement(in, result.scale));
    if (!in.has(result.zero))
        return {};
    TS_TRY(requireSameType(in, value, result.zero));
    return requireOneElement(in, result.zero);
}

ScaleAndZero parametersOf(const EvalContext& context, const QuantisedInput& x) {
    ScaleAndZero found;
    found.scale = static_cast<float>(context.input(x.scale).asDouble(0));
    if (context.has(x.zero))
        found.zero = static_cast<std::int32_t>(context.input(x.zero).asInt(0));
    return found;
}

Expr scaleExpr(const LowerContext& context, const QuantisedInput& x) {
    return cast(DType::f32, oneElement(context, x.scale));
}

Expr zeroExpr(const LowerContext& context, const QuantisedInput& x) {
    return context.has(x.zero) ? cast(DType::i32, oneElement(context, x.zero)) : constantInt(DType::i32, 0);
}

// Code generation adds a product without rounding it. That of two floats is exact in double.
Expr roundedProduct(const Expr& a, const Expr& b) {
    return cast(DType::f32, cast(DType::f64, a) * cast(DType::f64, b));
}

// A quotient of floats that is rounded to double and then to float is the nearest float.
Expr roundedQuotient(const Expr& a, const Expr& b) {
    return cast(DType::f32, cast(DType::f64, a) / cast(DType::f64, b));
}

CentredBytes dynamicBytes(const Tensor& x) {
    float low = 0, high = 0;
    for (const float value : x.data<float>()) {
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    CentredBytes made{Tensor::zeros(DType::i32, x.shape()), low == high ? 1 : (high - low) / 255};
    const float zero = std::nearbyint(std::min(std::max(-low / made.scale, 0.0F), 255.0F));
    std::ranges::transform(
        x.data<float>(), made.values.mutableData<std::int32_t>().begin(), [&](float value) {
            const auto stored = saturated<std::uint8_t>(std::nearbyint(value / made.scale) + zero);
            return static_cast<std::int32_t>(stored) - static_cast<std::int32_t>(zero);
        });
    return made;
}

ValueId dequantized(ExpandContext& context, const QuantisedInput& x) {
    return dequantized(context, x, context.node.inputs[x.value]);
}

ValueId dequantized(ExpandContext& context, const QuantisedInput& x, ValueId stored) {
    std::vector<ValueId> inputs{stored, context.node.inputs[x.scale]};
    if (context.has(x.zero))
        inputs.push_back(context.node.inputs[x.zero]);
    return context.add("DequantizeLinear", inputs);
}

ValueId quantized(ExpandContext& context, ValueId real, DType type, const QuantisedInput& result) {
    const ValueId zero = context.has(result.zero)
                             ? context.node.inputs[result.zero]
                             : context.addConstant(Tensor::zeros(type, context.type(result.scale).shape()));
    return context.add("QuantizeLinear", {real, context.node.inputs[result.scale], zero});
}

} // namespace tunesmith::ops
