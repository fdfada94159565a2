// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cmath>
#include <cstdint>

#include "core/ops/contrib/contrib.h"
#include "core/ops/quantize.h"

namespace tunesmith::ops {

// The QLinear operators of com.microsoft share these: bytes with one scale and one zero point per tensor,
// where a zero point that is left out is 0. Arithmetic is that of ONNX Runtime's kernels for x86, in float32
// and in their order, so that results are equal to the last bit.

// Where an operator has a quantised tensor: its value, scale and zero point.
struct QuantisedInput {
    std::size_t value, scale, zero;
};
struct ScaleAndZero {
    float scale = 1;
    std::int32_t zero = 0;
};

Status checkQuantised(const OpInputs& in, const QuantisedInput& x); // bytes, scalars
Status checkParameters(const OpInputs& in, std::size_t value,
                       const QuantisedInput& result); // of a result of that type

ScaleAndZero parametersOf(const EvalContext& context, const QuantisedInput& x);
loops::Expr scaleExpr(const LowerContext& context, const QuantisedInput& x); // float32
loops::Expr zeroExpr(const LowerContext& context, const QuantisedInput& x);  // int32
// Rounded to float32 before anything is added to them.
loops::Expr roundedProduct(const loops::Expr& a, const loops::Expr& b);
loops::Expr roundedQuotient(const loops::Expr& a, const loops::Expr& b);

// Stored numbers of `from` as stored numbers of `to`, through a function of real ones.
template <class T, class Function>
std::array<T, 256> quantisedTable(const ScaleAndZero& from, const ScaleAndZero& to, Function function) {
    std::array<T, 256> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
        const auto stored = static_cast<std::int32_t>(static_cast<T>(i));
        const auto real = static_cast<float>(function(static_cast<float>(stored - from.zero) * from.scale));
        table[i] = saturated<T>(std::nearbyint(real / to.scale) + static_cast<float>(to.zero));
    }
    return table;
}

// Bytes without their zero point, as int32.
struct CentredBytes {
    Tensor values;
    float scale = 1;
};
CentredBytes dynamicBytes(const Tensor& x); // of float32, as DynamicQuantizeLinear makes them

// Nodes between stored and real numbers. Stored ones are of `type`, which a missing zero point does not tell.
ValueId dequantized(ExpandContext& context, const QuantisedInput& x);
ValueId dequantized(ExpandContext& context, const QuantisedInput& x, ValueId stored); // a part of it
ValueId quantized(ExpandContext& context, ValueId real, DType type, const QuantisedInput& result);

} // namespace tunesmith::ops
