// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/wire_reader.h"

namespace tunesmith::substitution {
namespace {

Error ended() { return inputError("it ends in the middle of a field; the file is damaged or no file of substitutions"); }

} // namespace

Result<std::uint64_t> WireReader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (rest_.empty())
            return ended();
        const auto byte = static_cast<unsigned char>(rest_[0]);
        rest_.remove_prefix(1);
        value |= std::uint64_t(byte & 0x7fU) << shift;
        if (byte < 0x80)
            return value;
    }
    return inputError("a number has more than ten bytes; the file is damaged or no file of substitutions");
}

Result<std::uint64_t> WireReader::fixed(std::size_t bytes) {
    if (rest_.size() < bytes)
        return ended();
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
        value |= std::uint64_t(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(bytes);
    return value;
}

Result<std::optional<WireField>> WireReader::next() {
    if (rest_.empty())
        return std::optional<WireField>();
    TS_ASSIGN(const std::uint64_t key, varint());
    WireField field{key >> 3, (key & 7) == 2, 0, {}};
    switch (key & 7) {
    case 0: {
        TS_ASSIGN(field.value, varint());
        return std::optional(field);
    }
    case 1:
    case 5: {
        TS_ASSIGN(field.value, fixed((key & 7) == 1 ? 8 : 4));
        return std::optional(field);
    }
    case 2: {
        TS_ASSIGN(const std::uint64_t size, varint());
        if (size > rest_.size())
            return ended();
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return std::optional(field);
    }
    default: return inputError("a field is of kind " + std::to_string(key & 7) + ", which nobody writes; the file is damaged or no file of substitutions");
    }
}

Result<std::vector<WireField>> wireFields(std::string_view message) {
    std::vector<WireField> fields;
    WireReader reader(message);
    for (;;) {
        TS_ASSIGN(const std::optional<WireField> field, reader.next());
        if (!field)
            return fields;
        fields.push_back(*field);
    }
}

} // namespace tunesmith::substitution
