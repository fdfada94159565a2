// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/string_cast.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace tunesmith::ops {
namespace {

template <class T> std::string floatText(T value) {
    if (std::isnan(value))
        return "NaN";
    if (std::isinf(value))
        return value > 0 ? "INF" : "-INF";
    const T size = std::fabs(value);
    const bool plain = value == 0 || (size >= static_cast<T>(1e-4) && size < static_cast<T>(1e16)); // as numpy chooses
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                   plain ? std::chars_format::fixed : std::chars_format::scientific).ptr;
    std::string text(buffer, end);
    return plain && text.find('.') == std::string::npos ? text + ".0" : text;
}

template <class T> std::string textOf(T value) {
    if constexpr (std::is_floating_point_v<T>)
        return floatText(value);
    else
        return std::to_string(value);
}

std::string lowered(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

template <class T> std::optional<T> special(const std::string& text) {
    using Limits = std::numeric_limits<T>;
    if (text == "nan")
        return Limits::quiet_NaN();
    if (text == "inf" || text == "+inf")
        return Limits::infinity();
    return text == "-inf" ? std::optional<T>(-Limits::infinity()) : std::nullopt;
}

template <class T> std::optional<T> numberOf(const std::string& text) {
    if constexpr (std::is_floating_point_v<T>)
        if (const auto found = special<T>(lowered(text)))
            return found;
    const char* const begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
    const char* const end = text.data() + text.size();
    T value{};
    const auto read = std::from_chars(begin, end, value);
    if (std::is_floating_point_v<T> && read.ptr == end && read.ec == std::errc::result_out_of_range)
        return static_cast<T>(std::strtod(text.c_str(), nullptr)); // infinity, or zero
    return read.ec == std::errc() && read.ptr == end && begin != end ? std::optional<T>(value) : std::nullopt;
}

// Of all decimal numbers that become the same 16-bit one, that with the fewest digits.
template <class Narrow> float shortest(float value, Narrow narrow) {
    for (int digits = 0; digits < 9 && std::isfinite(value); ++digits) {
        char buffer[64];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, digits).ptr;
        float rounded = 0;
        std::from_chars(buffer, end, rounded);
        if (narrow(rounded).bits == narrow(value).bits)
            return rounded;
    }
    return value;
}

} // namespace

Tensor numbersToText(const Tensor& numbers) {
    std::vector<std::string> texts;
    visitDType(numbers.type(), [&](auto tag) {
        using T = decltype(tag);
        for (const T value : numbers.data<T>())
            if constexpr (std::is_same_v<T, Half>)
                texts.push_back(textOf(shortest(halfToFloat(value), floatToHalf)));
            else if constexpr (std::is_same_v<T, BFloat>)
                texts.push_back(textOf(shortest(bfloatToFloat(value), floatToBfloat)));
            else
                texts.push_back(textOf(value));
    });
    return Tensor::ofStrings(numbers.shape(), std::move(texts));
}

Result<Tensor> textToNumbers(const Tensor& text, DType type) {
    const bool small = type == DType::f16 || type == DType::bf16;
    Tensor numbers = Tensor::zeros(small ? DType::f32 : type, text.shape());
    std::optional<Error> wrong;
    visitDType(numbers.type(), [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            std::size_t i = 0;
            for (T& value : numbers.mutableData<T>()) {
                const std::string& source = text.strings()[i++];
                const auto number = numberOf<T>(source);
                if (!number && !wrong)
                    wrong = inputError("'" + source + "' is no " + std::string(dtypeName(type)) + " number");
                value = number.value_or(T{});
            }
        }
    });
    if (wrong)
        return *wrong;
    return numbers.cast(type);
}

} // namespace tunesmith::ops
