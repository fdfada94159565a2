// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tunesmith {

// A float cast to an integer, in every engine: truncated towards zero. C++ and ONNX leave open what becomes of numbers that do
// not fit and of NaN. Here they become what x86 and ONNX Runtime make of them: types up to int32 go through int32, the wider
// ones through int64, whose lowest number stands for what does not fit; then low bits are kept. So 300 is 44 as a uint8.
template <class Int> Int truncatedTo(double value) {
    constexpr auto lowest = std::numeric_limits<Int>::min();
    constexpr auto end = -static_cast<double>(lowest);
    return value > -end && value < end ? static_cast<Int>(value) : lowest;
}

template <class T> T floatToInt(double value) {
    constexpr double middle = 0x1p63;
    if constexpr (sizeof(T) < 4 || std::is_same_v<T, std::int32_t>)
        return static_cast<T>(truncatedTo<std::int32_t>(value));
    else if (std::is_same_v<T, std::uint64_t> && value >= middle)
        return static_cast<T>(static_cast<std::uint64_t>(truncatedTo<std::int64_t>(value - middle)) ^ (std::uint64_t{1} << 63));
    else
        return static_cast<T>(truncatedTo<std::int64_t>(value));
}

// A computed number as an element of any type.
template <class T> T numberAs(double value) {
    if constexpr (std::is_integral_v<T>)
        return floatToInt<T>(value);
    else
        return static_cast<T>(value);
}

} // namespace tunesmith
