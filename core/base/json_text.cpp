// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/json_text.h"

namespace tunesmith {
namespace {

// As nlohmann's values lie in memory, with what malloc adds.
constexpr std::size_t kElement = 48; // of a list that grows: the old and the new elements of 16 bytes
constexpr std::size_t kList = 32 + kElement, kObject = 64, kMember = 112, kText = 48;

} // namespace

std::size_t jsonMemory(std::string_view text) {
    std::size_t bytes = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char letter = text[i];
        if (letter == '"')
            bytes += (quoted = !quoted) ? kText : 0;
        else if (quoted)
            i += letter == '\\' ? 1 : 0;
        else
            bytes += letter == '[' ? kList : letter == '{' ? kObject : letter == ',' ? kElement : letter == ':' ? kMember : 0;
    }
    return bytes + 2 * text.size(); // what is quoted, and room to grow
}

std::string jsonExcess(std::string_view text) {
    int depth = 0;
    std::size_t values = 1; // at most: each other one begins behind one of these letters
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char letter = text[i];
        if (letter == '"')
            quoted = !quoted;
        else if (quoted)
            i += letter == '\\' ? 1 : 0;
        else if (letter == '[' || letter == '{')
            depth += 1;
        else if (letter == ']' || letter == '}')
            depth -= 1;
        values += !quoted && (letter == '[' || letter == '{' || letter == ',') ? 1 : 0;
        if (depth > kDeepestJson)
            return "it nests too deep";
        if (values > kMostJsonValues)
            return "it has more values than are read, which are " + std::to_string(kMostJsonValues);
    }
    return {};
}

} // namespace tunesmith
