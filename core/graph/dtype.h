// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tunesmith {

// Element types of tensors. The numbers are ONNX's TensorProto.DataType, so that import and export need no table.
enum class DType : std::uint8_t {
    undefined = 0,
    f32 = 1,
    u8 = 2,
    i8 = 3,
    u16 = 4,
    i16 = 5,
    i32 = 6,
    i64 = 7,
    string = 8,
    boolean = 9,
    f16 = 10,
    f64 = 11,
    u32 = 12,
    u64 = 13,
    bf16 = 16,
    f8e4m3fn = 17, // from here on: types that only store, see stored_types.h
    f8e4m3fnuz = 18,
    f8e5m2 = 19,
    f8e5m2fnuz = 20,
    u4 = 21,
    i4 = 22,
    f4e2m1 = 23,
    f8e8m0 = 24,
    u2 = 25,
    i2 = 26,
};

std::size_t byteSize(DType type); // of one element; 0 for undefined, string, and the packed types of 4 and 2 bits
int bitSize(DType type);          // 0 for undefined and string
std::size_t storedBytes(DType type, std::int64_t count); // of a tensor with so many elements
bool isStored(DType type);        // 8 bits of float or less than 8 bits: nothing computes in it
bool isPacked(DType type);        // several elements in a byte
DType widenedType(DType type);    // what holds every value of a stored type: float32, int8 or uint8; else the type itself
std::string_view dtypeName(DType type); // numpy's names: "float32", "int64", "bool", "bfloat16" ...
DType dtypeFromName(std::string_view name); // undefined for unknown names
DType dtypeFromNumber(std::int64_t number); // one of ONNX's, as attributes carry them; undefined for unknown ones
bool isFloat(DType type);   // of those that kernels compute in, as the next two
bool isInteger(DType type); // without bool
bool isSigned(DType type);

// The C++ type that holds one element, and back. bool is one byte of 0 or 1; f16 and bf16 are kept as their bits.
struct Half {
    std::uint16_t bits;
};
struct BFloat {
    std::uint16_t bits;
};
template <class T> inline constexpr DType dtypeOf = DType::undefined;
template <> inline constexpr DType dtypeOf<float> = DType::f32;
template <> inline constexpr DType dtypeOf<double> = DType::f64;
template <> inline constexpr DType dtypeOf<std::uint8_t> = DType::u8;
template <> inline constexpr DType dtypeOf<std::int8_t> = DType::i8;
template <> inline constexpr DType dtypeOf<std::uint16_t> = DType::u16;
template <> inline constexpr DType dtypeOf<std::int16_t> = DType::i16;
template <> inline constexpr DType dtypeOf<std::uint32_t> = DType::u32;
template <> inline constexpr DType dtypeOf<std::int32_t> = DType::i32;
template <> inline constexpr DType dtypeOf<std::uint64_t> = DType::u64;
template <> inline constexpr DType dtypeOf<std::int64_t> = DType::i64;
template <> inline constexpr DType dtypeOf<bool> = DType::boolean;
template <> inline constexpr DType dtypeOf<Half> = DType::f16;
template <> inline constexpr DType dtypeOf<BFloat> = DType::bf16;

float halfToFloat(Half value);
Half floatToHalf(float value); // round to nearest even
float bfloatToFloat(BFloat value);
BFloat floatToBfloat(float value);

} // namespace tunesmith
