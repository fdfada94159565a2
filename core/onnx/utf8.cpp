// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/onnx/utf8.h"

#include <cstddef>
#include <cstdint>

namespace tunesmith {
namespace {

// Length of the sequence that starts with this byte, 0 for a byte that starts none.
std::size_t sequenceLength(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

} // namespace

bool isUtf8(std::string_view text) {
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text[0]);
        const std::size_t length = sequenceLength(first);
        if (length == 0 || length > text.size())
            return false;
        std::uint32_t code = length == 1 ? first : first & (0x7fu >> length);
        for (std::size_t i = 1; i < length; ++i) {
            const auto next = static_cast<unsigned char>(text[i]);
            if ((next & 0xc0) != 0x80)
                return false;
            code = code << 6 | (next & 0x3f);
        }
        const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
        if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
        text.remove_prefix(length);
    }
    return true;
}

} // namespace tunesmith
