// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/stored_types.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tunesmith {

FloatFormat floatFormat(DType type) {
    switch (type) {
    case DType::f8e4m3fn:
        return {8, 3, 7, 448, false, false, 0x7f};
    case DType::f8e4m3fnuz:
        return {8, 3, 8, 240, false, true, 0x80};
    case DType::f8e5m2:
        return {8, 2, 15, 57344, true, false, 0x7e};
    case DType::f8e5m2fnuz:
        return {8, 2, 16, 57344, false, true, 0x80};
    default:
        assert(type == DType::f4e2m1);
        return {4, 1, 1, 6, false, false, 0x8};
    }
}

namespace {

constexpr std::uint8_t kScaleNan = 0xff; // of float8e8m0

std::uint8_t encodeScale(float value, const StoreRule& rule) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t exponent = (bits >> 23) & 0xff, mantissa = bits & 0x7fffff;
    if (exponent == 0xff)
        return kScaleNan;
    bool up = rule.exponent == StoreRule::Exponent::up && mantissa > 0;
    if (rule.exponent == StoreRule::Exponent::nearest)
        up = mantissa > 0x400000 || (mantissa == 0x400000 && exponent > 0);
    if (rule.saturate && exponent == 0xfe)
        up = false;
    return static_cast<std::uint8_t>(exponent + up);
}

std::uint8_t overflowed(const FloatFormat& format, bool negative, const StoreRule& rule) {
    const unsigned sign = negative ? format.signBit() : 0;
    if (rule.saturate || format.bits == 4) {
        const unsigned all = format.signBit() - 1, mantissas = 1u << format.mantissaBits;
        const unsigned largest = format.infinities ? all - mantissas : format.nan == all ? all - 1 : all;
        return static_cast<std::uint8_t>(sign | largest);
    }
    if (!format.infinities)
        return static_cast<std::uint8_t>(format.nan | (format.oneZero ? 0 : sign));
    return static_cast<std::uint8_t>(sign | (((1u << format.exponentBits()) - 1) << format.mantissaBits));
}

template <class T> std::uint8_t codeOf(DType type, T value, const StoreRule& rule) {
    return type == DType::f8e8m0 ? encodeScale(static_cast<float>(value), rule) : encodeFloat(type, static_cast<double>(value), rule);
}

template <class T> void encodeAll(const Tensor& numbers, DType type, const StoreRule& rule, Tensor& codes) {
    std::ranges::transform(numbers.data<T>(), codes.mutableData<std::uint8_t>().begin(), [&](T value) { return codeOf(type, value, rule); });
}

std::uint8_t codeAt(const Tensor& stored, std::int64_t index) {
    const int bits = bitSize(stored.type()), perByte = 8 / bits;
    const auto byte = std::to_integer<unsigned>(stored.bytes()[static_cast<std::size_t>(index / perByte)]);
    return static_cast<std::uint8_t>((byte >> (static_cast<int>(index % perByte) * bits)) & ((1u << bits) - 1));
}

std::int8_t signedNumber(std::uint8_t code, int bits) {
    const int sign = 1 << (bits - 1);
    return static_cast<std::int8_t>((code ^ sign) - sign);
}

} // namespace

double storedNumber(const Tensor& stored, std::int64_t index) {
    const std::uint8_t code = codeAt(stored, index);
    const DType wide = widenedType(stored.type());
    if (wide == DType::f32)
        return decodeFloat(stored.type(), code);
    return wide == DType::i8 ? signedNumber(code, bitSize(stored.type())) : code;
}

float decodeFloat(DType type, std::uint8_t code) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    if (type == DType::f8e8m0)
        return code == kScaleNan ? kNan : std::ldexp(1.0F, code - 127);
    const FloatFormat format = floatFormat(type);
    const bool negative = code & format.signBit();
    const unsigned magnitude = code & (format.signBit() - 1);
    const unsigned exponent = magnitude >> format.mantissaBits, mantissa = magnitude & ((1u << format.mantissaBits) - 1);
    const bool topmost = exponent == (1u << format.exponentBits()) - 1;
    if (format.infinities && topmost)
        return mantissa != 0 ? kNan : negative ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
    const bool isNan = format.oneZero ? code == format.nan : format.bits == 8 && !format.infinities && magnitude == format.nan;
    if (isNan)
        return kNan;
    const unsigned whole = mantissa + (exponent > 0 ? 1u << format.mantissaBits : 0);
    const float value = std::ldexp(static_cast<float>(whole), static_cast<int>(std::max(exponent, 1u)) - format.bias - format.mantissaBits);
    return negative ? -value : value;
}

std::uint8_t encodeFloat(DType type, double value, const StoreRule& rule) {
    if (type == DType::f8e8m0)
        return encodeScale(static_cast<float>(value), rule);
    const FloatFormat format = floatFormat(type);
    const bool negative = std::signbit(value);
    if (std::isnan(value))
        return format.nan;
    const double magnitude = std::fabs(value);
    if (std::isinf(value))
        return overflowed(format, negative, rule);
    const int least = 1 - format.bias; // the exponent of the subnormals
    const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), least) : least;
    // Rounding up to the next power of two carries into the exponent by itself.
    const auto units = static_cast<unsigned>(std::min(std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent)), 1e6));
    if (std::ldexp(units, exponent - format.mantissaBits) > format.largest)
        return overflowed(format, negative, rule);
    const unsigned code = static_cast<unsigned>(exponent - least) * (1u << format.mantissaBits) + units;
    const unsigned sign = negative && !(format.oneZero && code == 0) ? format.signBit() : 0;
    return static_cast<std::uint8_t>(sign | code);
}

Tensor unpackCodes(const Tensor& stored) {
    const int bits = bitSize(stored.type()), perByte = 8 / bits;
    if (perByte == 1)
        return stored.viewedAs(DType::u8);
    Tensor codes = Tensor::zeros(DType::u8, stored.shape());
    const auto to = codes.mutableData<std::uint8_t>();
    for (std::int64_t i = 0; i < codes.count(); ++i)
        to[static_cast<std::size_t>(i)] = codeAt(stored, i);
    return codes;
}

Tensor packCodes(DType type, const Tensor& codes) {
    const int bits = bitSize(type), perByte = 8 / bits;
    if (perByte == 1)
        return codes.viewedAs(type);
    Tensor stored = Tensor::zeros(type, codes.shape());
    const auto from = codes.data<std::uint8_t>();
    const auto to = stored.mutableBytes();
    const unsigned mask = (1u << bits) - 1;
    for (std::int64_t i = 0; i < codes.count(); ++i)
        to[static_cast<std::size_t>(i / perByte)] |=
            static_cast<std::byte>((from[static_cast<std::size_t>(i)] & mask) << (static_cast<int>(i % perByte) * bits));
    return stored;
}

Tensor widenStored(const Tensor& stored) {
    const DType type = stored.type(), wide = widenedType(type);
    const Tensor codes = unpackCodes(stored);
    if (wide == DType::u8)
        return codes;
    Tensor numbers = Tensor::zeros(wide, stored.shape());
    if (wide == DType::i8) {
        std::ranges::transform(codes.data<std::uint8_t>(), numbers.mutableData<std::int8_t>().begin(),
                               [&](std::uint8_t code) { return signedNumber(code, bitSize(type)); });
        return numbers;
    }
    float values[256];
    for (unsigned code = 0; code < (1u << bitSize(type)); ++code)
        values[code] = decodeFloat(type, static_cast<std::uint8_t>(code));
    std::ranges::transform(codes.data<std::uint8_t>(), numbers.mutableData<float>().begin(), [&](std::uint8_t code) { return values[code]; });
    return numbers;
}

Tensor narrowStored(const Tensor& numbers, DType type, const StoreRule& rule) {
    if (widenedType(type) != DType::f32)
        return packCodes(type, numbers.cast(widenedType(type)).viewedAs(DType::u8));
    Tensor codes = Tensor::zeros(DType::u8, numbers.shape());
    if (numbers.type() == DType::f64)
        encodeAll<double>(numbers, type, rule, codes);
    else
        encodeAll<float>(numbers.cast(DType::f32), type, rule, codes);
    return packCodes(type, codes);
}

} // namespace tunesmith
