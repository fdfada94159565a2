// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/json_text.h"

namespace tunesmith {

bool jsonNestsTooDeep(std::string_view text) {
    int depth = 0;
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
        if (depth > kDeepestJson)
            return true;
    }
    return false;
}

} // namespace tunesmith
