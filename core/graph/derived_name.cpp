// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/derived_name.h"

#include "core/base/hash.h"

namespace tunesmith {

std::string shortName(std::string text) {
    if (text.size() <= kLongestDerivedName)
        return text;
    const std::string tail = "~" + hexHash(Hasher().add(std::string_view(text)).value());
    const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; };
    std::size_t end = kLongestDerivedName - tail.size();
    while (end > 0 && continues(text[end]))
        --end;
    return text.substr(0, end) + tail;
}

std::string derivedName(std::string_view of, std::string_view more) { return shortName(std::string(of).append(more)); }

} // namespace tunesmith
