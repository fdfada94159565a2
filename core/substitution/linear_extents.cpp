// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/linear_extents.h"

#include <algorithm>

#include "core/substitution/rule_extents.h"

namespace tunesmith::substitution {

LinearExtents::Sum LinearExtents::unknown() {
    Sum sum(++unknowns_ + 1);
    sum.back() = 1;
    return sum;
}

LinearExtents::Sum LinearExtents::sum(const Sum& a, const Sum& b) {
    Sum result(std::max(a.size(), b.size()));
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = FieldExtents::sum(i < a.size() ? a[i] : 0, i < b.size() ? b[i] : 0);
    return result;
}

LinearExtents::Sum LinearExtents::difference(const Sum& a, const Sum& b) {
    Sum result(std::max(a.size(), b.size()));
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = FieldExtents::difference(i < a.size() ? a[i] : 0, i < b.size() ? b[i] : 0);
    return result;
}

// By Gauss and Jordan: afterwards each row has an unknown that no other row has, and that one follows from the rest.
bool LinearExtents::solve(Rng& rng) {
    std::vector<std::pair<Sum, std::size_t>> solved;
    for (Sum& row : zeros_)
        row.resize(unknowns_ + 1);
    for (std::size_t i = 0; i < zeros_.size(); ++i) {
        Sum row = zeros_[i];
        const auto pivot = std::find_if(row.begin() + 1, row.end(), [](std::uint64_t c) { return c != 0; });
        if (pivot == row.end()) {
            if (row[0] != 0)
                return false;
            continue;
        }
        const auto column = static_cast<std::size_t>(pivot - row.begin());
        const std::uint64_t factor = FieldExtents::inverse(*pivot);
        for (std::uint64_t& c : row)
            c = FieldExtents::product(c, factor);
        eliminate(row, column);
        solved.emplace_back(row, column);
        for (auto& [other, itsColumn] : solved)
            if (itsColumn != column)
                for (std::size_t c = row.size(); c-- > 0;)
                    if (c != column)
                        other[c] = FieldExtents::difference(other[c], FieldExtents::product(other[column], row[c]));
        for (auto& [other, itsColumn] : solved)
            if (itsColumn != column)
                other[column] = 0;
    }
    values_.assign(unknowns_ + 1, 1);
    for (std::size_t i = 1; i <= unknowns_; ++i)
        values_[i] = rng.below(FieldExtents::kPrime);
    for (const auto& [row, column] : solved)
        values_[column] = 0;
    std::vector<std::uint64_t> found;
    for (const auto& [row, column] : solved)
        found.push_back(FieldExtents::difference(0, value(row)));
    for (std::size_t i = 0; i < solved.size(); ++i)
        values_[solved[i].second] = found[i];
    return true;
}

void LinearExtents::eliminate(const Sum& row, std::size_t column) {
    for (Sum& other : zeros_) {
        const std::uint64_t factor = other[column];
        for (std::size_t c = 0; c < row.size() && factor != 0; ++c)
            other[c] = FieldExtents::difference(other[c], FieldExtents::product(factor, row[c]));
    }
}

std::uint64_t LinearExtents::value(const Sum& sum) const {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < sum.size(); ++i)
        total = FieldExtents::sum(total, FieldExtents::product(sum[i], values_[i]));
    return total;
}

} // namespace tunesmith::substitution
