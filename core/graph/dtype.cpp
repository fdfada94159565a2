// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/dtype.h"

#include <array>
#include <bit>
#include <cmath>

namespace tunesmith {
namespace {

struct DTypeFacts {
    DType type;
    std::string_view name;
    int bits;
};

constexpr std::array kFacts{DTypeFacts{DType::f32, "float32", 32},
                            DTypeFacts{DType::u8, "uint8", 8},
                            DTypeFacts{DType::i8, "int8", 8},
                            DTypeFacts{DType::u16, "uint16", 16},
                            DTypeFacts{DType::i16, "int16", 16},
                            DTypeFacts{DType::i32, "int32", 32},
                            DTypeFacts{DType::i64, "int64", 64},
                            DTypeFacts{DType::string, "string", 0},
                            DTypeFacts{DType::boolean, "bool", 8},
                            DTypeFacts{DType::f16, "float16", 16},
                            DTypeFacts{DType::f64, "float64", 64},
                            DTypeFacts{DType::u32, "uint32", 32},
                            DTypeFacts{DType::u64, "uint64", 64},
                            DTypeFacts{DType::bf16, "bfloat16", 16},
                            DTypeFacts{DType::f8e4m3fn, "float8_e4m3fn", 8},
                            DTypeFacts{DType::f8e4m3fnuz, "float8_e4m3fnuz", 8},
                            DTypeFacts{DType::f8e5m2, "float8_e5m2", 8},
                            DTypeFacts{DType::f8e5m2fnuz, "float8_e5m2fnuz", 8},
                            DTypeFacts{DType::u4, "uint4", 4},
                            DTypeFacts{DType::i4, "int4", 4},
                            DTypeFacts{DType::f4e2m1, "float4_e2m1fn", 4},
                            DTypeFacts{DType::f8e8m0, "float8_e8m0fnu", 8},
                            DTypeFacts{DType::u2, "uint2", 2},
                            DTypeFacts{DType::i2, "int2", 2},
                            DTypeFacts{DType::undefined, "undefined", 0}};

const DTypeFacts& facts(DType type) {
    for (const auto& fact : kFacts)
        if (fact.type == type)
            return fact;
    return kFacts.back();
}

} // namespace

std::size_t byteSize(DType type) { return static_cast<std::size_t>(facts(type).bits / 8); }

int bitSize(DType type) { return facts(type).bits; }

std::size_t storedBytes(DType type, std::int64_t count) {
    const auto elements = static_cast<std::size_t>(count);
    if (!isPacked(type))
        return elements * byteSize(type);
    const auto perByte = static_cast<std::size_t>(8 / bitSize(type));
    return elements / perByte + (elements % perByte != 0);
}

bool isStored(DType type) { return type >= DType::f8e4m3fn && bitSize(type) > 0; }

bool isPacked(DType type) { return bitSize(type) > 0 && bitSize(type) < 8; }

DType widenedType(DType type) {
    if (!isStored(type))
        return type;
    if (type == DType::u4 || type == DType::u2)
        return DType::u8;
    return type == DType::i4 || type == DType::i2 ? DType::i8 : DType::f32;
}

std::string_view dtypeName(DType type) { return facts(type).name; }

DType dtypeFromName(std::string_view name) {
    for (const auto& fact : kFacts)
        if (fact.name == name)
            return fact.type;
    return DType::undefined;
}

DType dtypeFromNumber(std::int64_t number) {
    for (const auto& fact : kFacts)
        if (static_cast<std::int64_t>(fact.type) == number)
            return fact.type;
    return DType::undefined;
}

bool isFloat(DType type) {
    return type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16;
}

bool isInteger(DType type) {
    return bitSize(type) > 0 && !isFloat(type) && !isStored(type) && type != DType::boolean;
}

bool isSigned(DType type) {
    return isFloat(type) || type == DType::i8 || type == DType::i16 || type == DType::i32 || type == DType::i64;
}

float halfToFloat(Half value) {
    const std::uint32_t sign = (value.bits & 0x8000u) << 16;
    const std::uint32_t exponent = (value.bits >> 10) & 31u;
    const std::uint32_t mantissa = value.bits & 1023u;
    if (exponent == 31)
        return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0)
        return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    const float subnormal = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -subnormal : subnormal;
}

Half floatToHalf(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const float magnitude = std::fabs(value);
    if (std::isnan(value))
        return {static_cast<std::uint16_t>(sign | 0x7e00u)};
    if (magnitude >= 65520.0f)
        return {static_cast<std::uint16_t>(sign | 0x7c00u)};
    if (magnitude == 0)
        return {sign};
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    exponent = std::max(exponent - 1, -14);
    // One unit in the last place is 2^(exponent-10); rint rounds ties to even.
    const auto units = static_cast<std::uint32_t>(std::rint(std::ldexp(magnitude, 10 - exponent)));
    const std::uint32_t biased = static_cast<std::uint32_t>(exponent + 14) * 1024u + units;
    return {static_cast<std::uint16_t>(sign | biased)};
}

float bfloatToFloat(BFloat value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

BFloat floatToBfloat(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value))
        return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

} // namespace tunesmith
