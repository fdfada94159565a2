// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tunesmith::substitution {

// One field of a message of Protocol Buffers: a whole number, or bytes that may be a message again.
struct WireField {
    std::uint64_t number = 0;
    bool isBytes = false;
    std::uint64_t value = 0; // of those that are no bytes
    std::string_view bytes;

    std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

// The fields of a message in the order in which they lie. It never reads past the end, whatever lengths a file claims. Groups, which
// nobody writes any more, are refused. https://protobuf.dev/programming-guides/encoding
class WireReader {
public:
    explicit WireReader(std::string_view message) : rest_(message) {}
    Result<std::optional<WireField>> next(); // none at the end

private:
    Result<std::uint64_t> varint();
    Result<std::uint64_t> fixed(std::size_t bytes);

    std::string_view rest_;
};

Result<std::vector<WireField>> wireFields(std::string_view message);

} // namespace tunesmith::substitution
