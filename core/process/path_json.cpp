// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/path_json.h"

#include <string>
#include <string_view>

namespace tunesmith {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

} // namespace

nlohmann::json pathToJson(const std::filesystem::path& path) {
    std::string digits;
    for (const char c : path.native()) {
        const auto byte = static_cast<unsigned char>(c);
        digits += {kDigits[byte >> 4], kDigits[byte & 15]};
    }
    return digits;
}

Result<std::filesystem::path> pathFromJson(const nlohmann::json& json) {
    const auto* const digits = json.get_ptr<const std::string*>();
    if (!digits || digits->size() % 2 != 0)
        return inputError("a message between processes has no path where one belongs");
    std::string path;
    for (std::size_t i = 0; i < digits->size(); i += 2) {
        const std::size_t high = kDigits.find((*digits)[i]), low = kDigits.find((*digits)[i + 1]);
        if (high == kDigits.npos || low == kDigits.npos || (high == 0 && low == 0))
            return inputError("a message between processes has no path where one belongs");
        path += static_cast<char>(high << 4 | low);
    }
    return std::filesystem::path(path);
}

} // namespace tunesmith
