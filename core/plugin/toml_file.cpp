// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plugin/toml_file.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/text_file.h"

namespace tunesmith {
namespace {

constexpr std::uintmax_t kMostBytes = 1 << 20;
constexpr int kMostParts = 32, kDeepest = 32;

Error at(const std::filesystem::path& file, std::size_t line, const std::string& what) {
    return inputError(file.string() + ", line " + std::to_string(line) + ": " + what);
}

// Behind the string that begins at `place`, of one line or of several.
std::size_t behindString(std::string_view text, std::size_t place) {
    const char quote = text[place];
    const std::string three(3, quote);
    const std::string_view mark = text.substr(place, 3) == three ? std::string_view(three) : text.substr(place, 1);
    std::size_t end = place + mark.size();
    while (end < text.size() && text.substr(end, mark.size()) != mark && (mark.size() == 3 || text[end] != '\n'))
        end += quote == '"' && text[end] == '\\' ? 2 : 1;
    return end < text.size() && text[end] == '\n' ? end : std::min(end + mark.size(), text.size());
}

// Counts what nests, whether or not the text is right in other ways.
Status checkNesting(const std::filesystem::path& file, std::string_view text) {
    int parts = 0, depth = 0;
    for (std::size_t i = 0, next = 0; i < text.size(); i = next) {
        const char letter = text[i];
        next = letter == '"' || letter == '\'' ? behindString(text, i) : letter == '#' ? std::min(text.find('\n', i), text.size()) : i + 1;
        parts = letter == '.' ? parts + 1 : letter == '\n' || letter == '=' || letter == ',' ? 0 : parts;
        depth = letter == '[' || letter == '{' ? depth + 1 : letter == ']' || letter == '}' ? std::max(depth - 1, 0) : depth;
        const std::string_view before = text.substr(0, i);
        if (parts < kMostParts && depth <= kDeepest)
            continue;
        const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
        return parts < kMostParts ? at(file, line, "values nest more than " + std::to_string(kDeepest) + " deep")
                                  : at(file, line, "a key has more than " + std::to_string(kMostParts) + " parts");
    }
    return {};
}

} // namespace

Result<toml::table> readTomlFile(const std::filesystem::path& file) {
    const auto unreadable = [&](const std::string& why) { return inputError(file.string() + " cannot be read: " + why); };
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed))
        return unreadable(failed ? failed.message() : "it is no file");
    TS_ASSIGN(const std::string text, readText(file, kMostBytes, "a TOML file"));
    TS_TRY(checkNesting(file, text));
    try {
        return toml::parse(text, file.string());
    } catch (const toml::parse_error& wrong) {
        return at(file, wrong.source().begin.line, std::string(wrong.description()));
    }
}

} // namespace tunesmith
