// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tunesmith {

// Stable 64-bit hashes: the same on every machine and in every version, because they are stored (workload keys, graph
// hashes, config hashes). Order matters. Not cryptographic.
class Hasher {
public:
    Hasher& bytes(const void* data, std::size_t size);
    Hasher& add(std::string_view text) { return add(text.size()).bytes(text.data(), text.size()); }
    Hasher& add(std::uint64_t value);
    template <class Integer>
        requires(std::is_integral_v<Integer> || std::is_enum_v<Integer>)
    Hasher& add(Integer value) {
        return add(static_cast<std::uint64_t>(value));
    }
    Hasher& add(double value);
    Hasher& add(float value) { return add(static_cast<double>(value)); }
    template <class T> Hasher& add(const std::vector<T>& values) {
        add(values.size());
        for (const auto& value : values)
            add(value);
        return *this;
    }

    std::uint64_t value() const;

private:
    std::uint64_t state_ = 0x2d358dccaa6c78a5ull;
};

std::string hexHash(std::uint64_t hash); // 16 lower-case hexadecimal digits

} // namespace tunesmith
