// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/printable.h"

#include <algorithm>
#include <cstdint>

namespace tunesmith {
namespace {

constexpr std::uint32_t kInvalid = 0xfffd;

struct Range {
    std::uint32_t first, last;
};

// Joiners (U+200C, U+200D) and the mark of emoji (U+FE0F) stay: scripts and emoji are written with them.
constexpr Range kSteering[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},     {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
                               {0x180b, 0x180f}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},   {0x2800, 0x2800},   {0x3164, 0x3164},
                               {0xd800, 0xdfff}, {0xfe00, 0xfe0e}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0},   {0xfff9, 0xfffb},   {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
                               {0xe0000, 0xe0fff}};

bool steers(std::uint32_t point) {
    const bool plain = point >= 0x20 && point < 0x7f;
    return !plain && std::ranges::any_of(kSteering, [&](const Range& range) { return point >= range.first && point <= range.last; });
}

struct Decoded {
    std::uint32_t point = kInvalid;
    std::size_t bytes = 1;
};

// An invalid byte stands for itself.
Decoded decode(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const std::size_t bytes = byte(0) < 0x80 ? 1 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    static constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if ((byte(0) >= 0x80 && byte(0) < 0xc2) || byte(0) > 0xf4 || bytes > text.size())
        return {};
    std::uint32_t point = bytes == 1 ? byte(0) : byte(0) & (0x7fu >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80)
            return {};
        point = point << 6 | (byte(i) & 0x3f);
    }
    if (point < kLeast[bytes] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return {};
    return {point, bytes};
}

void addUnit(std::string& out, std::uint32_t unit) {
    static constexpr char kDigits[] = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4)
        out += kDigits[unit >> shift & 15];
}

void addEscaped(std::string& out, std::uint32_t point) {
    if (point > 0xffff) { // as JSON writes it
        addUnit(out, 0xd800 + ((point - 0x10000) >> 10));
        addUnit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
    } else {
        addUnit(out, point);
    }
}

std::string cleaned(std::string_view text, bool lines) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Decoded next = decode(text);
        const bool valid = next.point != kInvalid || next.bytes > 1;
        if (valid && (!steers(next.point) || (lines && (next.point == '\n' || next.point == '\t'))))
            out.append(text.substr(0, next.bytes));
        else
            addEscaped(out, next.point);
        text.remove_prefix(next.bytes);
    }
    return out;
}

} // namespace

std::string printable(std::string_view text) {
    return cleaned(text, false);
}

std::string shortened(std::string_view text, std::size_t most) {
    constexpr std::string_view kCut = " ...";
    if (text.size() <= most)
        return std::string(text);
    const std::size_t longest = most - kCut.size();
    std::size_t end = longest;
    while (end > longest - 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        --end;
    return std::string(text.substr(0, end)) + std::string(kCut);
}

std::string printableLines(std::string_view text) {
    return cleaned(text, true);
}

} // namespace tunesmith
