// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/scalar_arithmetic.h"

#include <cmath>

#include "core/graph/float_to_int.h"
#include "core/graph/tensor.h"

namespace tunesmith::loops {
namespace {

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::int64_t number(std::uint64_t value) { return static_cast<std::int64_t>(value); }

std::int64_t truncDivide(std::int64_t a, std::int64_t b, DType type) {
    if (b == 0)
        return 0;
    if (type == DType::u64)
        return number(bits(a) / bits(b));
    return b == -1 ? number(0 - bits(a)) : a / b;
}

std::int64_t truncRemainder(std::int64_t a, std::int64_t b, DType type) {
    if (type == DType::u64)
        return b == 0 ? 0 : number(bits(a) % bits(b));
    return b == 0 || b == -1 ? 0 : a % b;
}

std::int64_t flooredRemainder(std::int64_t a, std::int64_t b, DType type) {
    if (b == 0 || type == DType::u64)
        return truncRemainder(a, b, type);
    return number(bits(a) - bits(floorDivide(a, b)) * bits(b));
}

// Squares as many times as the exponent has bits; a power below 1 is truncated to 0.
std::int64_t integerPower(std::int64_t base, std::int64_t exponent, DType type) {
    std::uint64_t left = bits(exponent), factor = bits(base), result = 1;
    if (isSigned(type) && exponent < 0) {
        if (base != 1 && base != -1)
            return 0;
        left = bits(exponent) & 1;
    }
    for (; left != 0; left >>= 1, factor *= factor)
        if (left & 1)
            result *= factor;
    return number(result);
}

bool isBelow(std::int64_t a, std::int64_t b, DType type) { return type == DType::u64 ? bits(a) < bits(b) : a < b; }

std::int64_t shiftedRight(std::int64_t a, std::int64_t b, DType type) {
    const int by = static_cast<int>(bits(b) & 63);
    return isSigned(type) ? a >> by : number(bits(a) >> by);
}

// The lowest byte of each side is first.
std::int64_t dotOfBytes(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    for (int shift = 0; shift < 32; shift += 8)
        sum += static_cast<std::uint8_t>(bits(a) >> shift) * static_cast<std::int8_t>(bits(b) >> shift);
    return sum;
}

} // namespace

std::int64_t floorDivide(std::int64_t a, std::int64_t b) {
    if (b == 0 || b == -1)
        return b == 0 ? 0 : number(0 - bits(a));
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

double realUnary(Op op, double x) {
    switch (op) {
    case Op::neg: return -x;
    case Op::abs: return std::fabs(x);
    case Op::sign: return x > 0 ? 1.0 : x < 0 ? -1.0 : x;
    case Op::exp:
    case Op::expDown: return std::exp(x);
    case Op::log: return std::log(x);
    case Op::sqrt: return std::sqrt(x);
    case Op::sin: return std::sin(x);
    case Op::cos: return std::cos(x);
    case Op::tan: return std::tan(x);
    case Op::asin: return std::asin(x);
    case Op::acos: return std::acos(x);
    case Op::atan: return std::atan(x);
    case Op::sinh: return std::sinh(x);
    case Op::cosh: return std::cosh(x);
    case Op::asinh: return std::asinh(x);
    case Op::acosh: return std::acosh(x);
    case Op::atanh: return std::atanh(x);
    case Op::tanh: return std::tanh(x);
    case Op::erf: return std::erf(x);
    case Op::floor: return std::floor(x);
    case Op::ceil: return std::ceil(x);
    case Op::round: return std::nearbyint(x);
    default: assert(false && "no such operation on floats"); return 0;
    }
}

double realBinary(Op op, double a, double b) {
    switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    case Op::mod: return a - std::floor(a / b) * b;
    case Op::truncMod: return std::fmod(a, b);
    case Op::min: return std::isnan(a) || a < b ? a : b; // NaN where either is
    case Op::max: return std::isnan(a) || a > b ? a : b;
    case Op::pow: return std::pow(a, b);
    default: assert(false && "no such operation on floats"); return 0;
    }
}

bool realCompare(Op op, double a, double b) {
    switch (op) {
    case Op::equal: return a == b;
    case Op::notEqual: return a != b;
    case Op::less: return a < b;
    case Op::lessEqual: return a <= b;
    case Op::greater: return a > b;
    case Op::greaterEqual: return a >= b;
    case Op::isNan: return std::isnan(a);
    case Op::isInf: return std::isinf(a);
    default: assert(false && "no such comparison of floats"); return false;
    }
}

std::int64_t intUnary(Op op, std::int64_t x, DType type) {
    const bool negative = x < 0 && type != DType::u64;
    switch (op) {
    case Op::neg: return number(0 - bits(x));
    case Op::abs: return negative ? number(0 - bits(x)) : x;
    case Op::sign: return negative ? -1 : x != 0;
    case Op::logicalNot: return !x;
    case Op::bitNot: return ~x;
    case Op::isNan:
    case Op::isInf: return 0;
    default: return x; // floor, ceil, round of an integer
    }
}

std::int64_t intBinary(Op op, std::int64_t a, std::int64_t b, DType type) {
    switch (op) {
    case Op::add: return number(bits(a) + bits(b));
    case Op::sub: return number(bits(a) - bits(b));
    case Op::mul: return number(bits(a) * bits(b));
    case Op::div: return type == DType::u64 ? truncDivide(a, b, type) : floorDivide(a, b);
    case Op::mod: return flooredRemainder(a, b, type);
    case Op::truncDiv: return truncDivide(a, b, type);
    case Op::truncMod: return truncRemainder(a, b, type);
    case Op::min: return isBelow(b, a, type) ? b : a;
    case Op::max: return isBelow(a, b, type) ? b : a;
    case Op::pow: return integerPower(a, b, type);
    case Op::dot4: return dotOfBytes(a, b);
    case Op::bitAnd: return a & b;
    case Op::bitOr: return a | b;
    case Op::bitXor: return a ^ b;
    case Op::shiftLeft: return number(bits(a) << (bits(b) & 63));
    case Op::shiftRight: return shiftedRight(a, b, type);
    case Op::equal: return a == b;
    case Op::notEqual: return a != b;
    case Op::less: return isBelow(a, b, type);
    case Op::lessEqual: return !isBelow(b, a, type);
    case Op::greater: return isBelow(b, a, type);
    case Op::greaterEqual: return !isBelow(a, b, type);
    case Op::logicalAnd: return a && b;
    case Op::logicalOr: return a || b;
    default: assert(false && "no such operation on integers"); return 0;
    }
}

std::int64_t truncated(DType type, double x) {
    return visitDType(type, [x](auto tag) -> std::int64_t {
        using T = decltype(tag);
        if constexpr (std::is_integral_v<T>)
            return static_cast<std::int64_t>(floatToInt<T>(x));
        else
            return 0;
    });
}

double realOf(DType type, std::int64_t x) { return type == DType::u64 ? static_cast<double>(bits(x)) : static_cast<double>(x); }

std::int64_t wrapTo(DType type, std::int64_t value) {
    switch (type) {
    case DType::i8: return static_cast<std::int8_t>(value);
    case DType::i16: return static_cast<std::int16_t>(value);
    case DType::i32: return static_cast<std::int32_t>(value);
    case DType::u8: return static_cast<std::uint8_t>(value);
    case DType::u16: return static_cast<std::uint16_t>(value);
    case DType::u32: return static_cast<std::uint32_t>(value);
    case DType::boolean: return value != 0;
    default: return value;
    }
}

} // namespace tunesmith::loops
