// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <compare>
#include <cstdint>
#include <functional>

namespace tunesmith {

// An index that cannot be mistaken for another kind of index: NodeId, ValueId, RunId ... Default-constructed means "none".
template <class Tag> class StrongId {
public:
    constexpr StrongId() = default;
    constexpr explicit StrongId(std::int64_t value) : value_(value) {}

    constexpr bool valid() const { return value_ >= 0; }
    constexpr std::int64_t value() const { return value_; }
    constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }
    constexpr auto operator<=>(const StrongId&) const = default;

private:
    std::int64_t value_ = -1;
};

} // namespace tunesmith

template <class Tag> struct std::hash<tunesmith::StrongId<Tag>> {
    std::size_t operator()(tunesmith::StrongId<Tag> id) const noexcept { return std::hash<std::int64_t>{}(id.value()); }
};
