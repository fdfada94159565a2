// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

#include "core/search/space.h"

namespace tunesmith {

// A space with choices as a unit cube, one dimension for each choice that has more than one value: what
// numeric techniques work on. A value stands for the middle of its share of [0, 1).
class UnitCube {
public:
    using Point = std::vector<double>;

    explicit UnitCube(const Space& space); // the space has choices()

    std::size_t dimensions() const { return choices_.size(); }
    Point pointOf(const Config& config) const;
    std::optional<Config> configAt(const Point& point) const; // clipped to the cube; none: it is forbidden

private:
    const Space& space_;
    std::vector<std::uint64_t> radices_;
    std::vector<std::size_t> choices_; // of each dimension
};

} // namespace tunesmith
