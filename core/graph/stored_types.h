// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/tensor.h"

namespace tunesmith {

// Element types that only store (isStored()): floats of 8 and 4 bits, integers of 4 and 2 bits. No kernel computes in
// them; what reads them widens, what writes them rounds. A tensor of them holds codes: those of 8 bits one a byte, smaller
// ones packed, the first element in the lowest bits, which is how ONNX's raw_data has them. So 4-bit weights stay mapped
// from their file, at half a byte an element, through import, folding, export and the weights of a module.
//
// The formats are those of ONNX (float8 and the micro-scaling formats of the Open Compute Project).

// How a number becomes a code.
struct StoreRule {
    // Saturating turns a value that is too large into the largest number; otherwise it becomes infinity, or NaN where there is none. float4 always saturates.
    bool saturate = true;
    enum class Exponent : std::uint8_t { up, down, nearest } exponent = Exponent::up; // rounding to float8e8m0
};

// value = (-1)^sign (mantissa + hidden bit) 2^(exponent - bias - mantissaBits). float8e8m0, a bare exponent, is apart.
struct FloatFormat {
    int bits, mantissaBits, bias;
    double largest;
    bool infinities;  // the largest exponent is infinity and NaN, as IEEE 754 has it
    bool oneZero;     // the code of -0 is NaN, and the only one
    std::uint8_t nan; // float4, which has none, takes -0

    int exponentBits() const { return bits - 1 - mantissaBits; }
    unsigned signBit() const { return 1u << (bits - 1); }
};
FloatFormat floatFormat(DType type);

double storedNumber(const Tensor& stored, std::int64_t index); // one element
float decodeFloat(DType type, std::uint8_t code);                               // of the stored floats
std::uint8_t encodeFloat(DType type, double value, const StoreRule& rule = {}); // half to even

Tensor unpackCodes(const Tensor& stored);              // uint8, one code an element
Tensor packCodes(DType type, const Tensor& codes);     // and back
Tensor widenStored(const Tensor& stored);              // in widenedType(), exact
// Floats round, integers keep their low bits, floats become integers by truncation.
Tensor narrowStored(const Tensor& numbers, DType type, const StoreRule& rule = {});

} // namespace tunesmith
