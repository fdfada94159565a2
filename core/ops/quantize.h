// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cmath>
#include <limits>

#include "core/ops/lowering.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {

// Quantised numbers: real = (stored - zero point) * scale. Rounding is half to even, and what does not fit saturates.
// Sums of products are int32 and wrap around; scales are float32, multiplied in the order of ONNX Runtime.

bool isByte(DType type);      // int8, uint8
bool isQuantised(DType type); // integers of 16 bits and less, and floats that only store

template <class Visitor> void visitQuantised(DType type, Visitor&& visitor) {
    switch (type) {
    case DType::i8:
        return visitor(std::int8_t{});
    case DType::i16:
        return visitor(std::int16_t{});
    case DType::u16:
        return visitor(std::uint16_t{});
    default:
        return visitor(std::uint8_t{});
    }
}

// The nearest number of a type to a float that is already rounded; what is not a number becomes the lowest.
template <class T> T saturated(float value) {
    constexpr auto low = static_cast<float>(std::numeric_limits<T>::lowest());
    constexpr auto high = static_cast<float>(std::numeric_limits<T>::max());
    return static_cast<T>(value > low ? std::min(value, high) : low);
}
loops::Expr saturated(DType type, const loops::Expr& value);

// What packed elements are once they are apart: int8 or uint8, and float8e4m3fn, which holds every float4.
DType unpackedType(DType type);
// A packed constant stays so in a graph that is compiled: a node of our own, which is never folded, reads it.
bool isPackedConstant(const OpInputs& in); // input 0, not empty
ValueId unpackedConstant(ExpandContext& context);

// The value of an element of a float of 8 bits, float32.
loops::Expr decoded(DType type, const loops::Expr& code);

// The one element of an input that must be a scalar.
loops::Expr oneElement(const LowerContext& context, std::size_t index);

} // namespace tunesmith::ops
