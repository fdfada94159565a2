// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/encoding.h"

#include <bit>
#include <cstring>
#include <limits>

#include <nlohmann/json.hpp>

#include "core/base/json_text.h"

namespace tunesmith::encoding {

using Json = nlohmann::json;

Status requireJson(const std::string& text, const char* what) {
    return Json::accept(text)
               ? Status()
               : Status(internalError(std::string(what) + " is not valid JSON: " + text.substr(0, 80)));
}

// A value that is not finite becomes null, which JSON can say; text that is not UTF-8 loses the bytes that
// are not.
std::string objectives(const std::vector<Objective>& values) {
    Json list = Json::array();
    for (const auto& objective : values)
        list.push_back(Json::array({objective.name, objective.value, objective.unit}));
    return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<Objective> objectives(const std::string& json) {
    std::vector<Objective> values;
    const Json list = parseJson<Json>(json);
    if (!list.is_array())
        return values;
    for (const auto& item : list) {
        if (!item.is_array() || item.size() != 3 || !item[0].is_string() || !item[2].is_string())
            continue;
        const double value =
            item[1].is_number() ? item[1].get<double>() : std::numeric_limits<double>::quiet_NaN();
        values.push_back({item[0].get<std::string>(), value, item[2].get<std::string>()});
    }
    return values;
}

std::string texts(const std::vector<std::string>& values) {
    return Json(values).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> texts(const std::string& json) {
    std::vector<std::string> values;
    const Json list = parseJson<Json>(json);
    if (list.is_array())
        for (const auto& item : list)
            if (item.is_string())
                values.push_back(item.get<std::string>());
    return values;
}

std::vector<std::uint8_t> samples(const std::vector<float>& values) {
    std::vector<std::uint8_t> bytes;
    bytes.reserve(values.size() * 4);
    for (const float value : values) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (int shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<std::uint8_t>(bits >> shift));
    }
    return bytes;
}

std::vector<float> samples(std::span<const std::uint8_t> bytes) {
    std::vector<float> values(bytes.size() / 4);
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint32_t bits = 0;
        for (std::size_t byte = 0; byte < 4; ++byte)
            bits |= static_cast<std::uint32_t>(bytes[4 * i + byte]) << (8 * byte);
        values[i] = std::bit_cast<float>(bits);
    }
    return values;
}

} // namespace tunesmith::encoding
