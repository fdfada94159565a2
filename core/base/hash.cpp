// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/hash.h"

#include <bit>
#include <cstring>

namespace tunesmith {
namespace {

__extension__ using Product = unsigned __int128;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const Product product = static_cast<Product>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

} // namespace

Hasher& Hasher::add(std::uint64_t value) {
    state_ = mix(state_ ^ value ^ 0x8bb84b93962eacc9ull, 0x9e3779b97f4a7c15ull ^ std::rotl(state_, 29));
    return *this;
}

Hasher& Hasher::add(double value) {
    return add(std::bit_cast<std::uint64_t>(value == 0.0 ? 0.0 : value));
}

Hasher& Hasher::bytes(const void* data, std::size_t size) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; size >= 8; size -= 8, at += 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        add(word);
    }
    if (size > 0) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, size);
        add(word ^ (static_cast<std::uint64_t>(size) << 56));
    }
    return *this;
}

std::uint64_t Hasher::value() const {
    return mix(state_ ^ 0x4b33a62ed433d4a3ull, 0xd1b54a32d192ed03ull);
}

std::string hexHash(std::uint64_t hash) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text(16, '0');
    for (int i = 15; i >= 0; --i, hash >>= 4)
        text[static_cast<std::size_t>(i)] = digits[hash & 15];
    return text;
}

} // namespace tunesmith
