// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace tunesmith {

// Whole numbers in messages of others. nlohmann::json makes an integer of 3e74, or a narrow one of a large one, without a word, which C++ leaves undefined. These
// throw nlohmann::json::exception, as its own get() does for what is no number at all.
template <std::integral Number> Number wholeNumber(const nlohmann::json& json) {
    if (!json.is_number_integer())
        throw nlohmann::json::type_error::create(302, "a whole number is expected", &json);
    const bool fits = json.is_number_unsigned() ? std::in_range<Number>(json.get<std::uint64_t>()) : std::in_range<Number>(json.get<std::int64_t>());
    if (!fits)
        throw nlohmann::json::out_of_range::create(406, "a number is too large or too small", &json);
    return json.get<Number>();
}

// From 1 to `most`.
inline std::size_t countUpTo(std::int64_t most, const nlohmann::json& json) {
    const auto count = wholeNumber<std::int64_t>(json);
    if (count < 1 || count > most)
        throw nlohmann::json::out_of_range::create(406, "a number is too large or too small", &json);
    return static_cast<std::size_t>(count);
}

template <std::integral Number> std::vector<Number> wholeNumbers(const nlohmann::json& list) {
    std::vector<Number> numbers;
    for (const auto& entry : list)
        numbers.push_back(wholeNumber<Number>(entry));
    return numbers;
}

template <std::integral Number> Number wholeNumber(const nlohmann::json& object, const char* key, Number otherwise) {
    const auto found = object.find(key);
    return found == object.end() ? otherwise : wholeNumber<Number>(*found);
}

} // namespace tunesmith
