// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/config.h"

#include <charconv>

#include "core/base/hash.h"
#include "core/base/printable.h"

namespace tunesmith {

std::string Config::text() const {
    std::string out;
    for (const std::int64_t choice : choices) {
        if (!out.empty())
            out += ',';
        out += std::to_string(choice);
    }
    if (!payload.empty())
        out += ';' + payload;
    return out;
}

Result<Config> Config::parse(std::string_view text) {
    Config config;
    const std::size_t split = text.find(';');
    const std::string_view list = text.substr(0, split);
    if (split != std::string_view::npos)
        config.payload = text.substr(split + 1);
    const char* at = list.data();
    const char* const end = at + list.size();
    while (at != end) {
        std::int64_t choice = 0;
        const auto [next, problem] = std::from_chars(at, end, choice);
        if (problem != std::errc() || (next != end && (*next != ',' || next + 1 == end)))
            return inputError(configInMessage(text) + " is not a list of whole numbers");
        config.choices.push_back(choice);
        at = next == end ? end : next + 1;
    }
    if (config.text() != text)
        return inputError(configInMessage(text) + " is not in canonical form");
    return config;
}

std::string configInMessage(std::string_view text) {
    constexpr std::size_t kShown = 80;
    return "config \"" + shortened(text, kShown) + "\"";
}

std::uint64_t Config::hash() const {
    return Hasher().add(choices).add(std::string_view(payload)).value();
}

} // namespace tunesmith
