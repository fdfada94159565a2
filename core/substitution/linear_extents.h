// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/rng.h"

namespace tunesmith::substitution {

// Extents that are sums of unknowns, with coefficients in the field of FieldExtents, and equations between them.
class LinearExtents {
public:
    // Coefficients: of 1, of the first unknown, and so on; those that are left out are 0.
    using Sum = std::vector<std::uint64_t>;

    static Sum number(std::uint64_t value) { return {value}; }
    Sum unknown();
    static Sum sum(const Sum& a, const Sum& b);
    static Sum difference(const Sum& a, const Sum& b);
    void same(const Sum& a, const Sum& b) { zeros_.push_back(difference(a, b)); }

    // Gives what the equations leave free random values. False where they contradict each other.
    bool solve(Rng& rng);
    std::uint64_t value(const Sum& sum) const;

private:
    void eliminate(const Sum& row, std::size_t column);

    std::size_t unknowns_ = 0;
    std::vector<Sum> zeros_;             // sums that are 0
    std::vector<std::uint64_t> values_; // as coefficients
};

} // namespace tunesmith::substitution
