// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/sample_choices.h"

namespace tunesmith::rewrite {

inline constexpr std::int64_t kOpen = -1; // an extent that is not decided

// What is decided of the shapes of a pattern's terms while a random model is made for it, from the values that there are.
class ShapeGuess {
public:
    ShapeGuess(const Pattern& pattern, const SampleChoices& choices, const Draft& draft, const std::vector<ValueNo>& values)
        : pattern_(pattern), choices_(choices), draft_(draft), values_(values) {}

    Shape of(TermId id) const;
    std::size_t axisAt(std::uint8_t axis, std::size_t rank) const { return axisOf(pattern_, choices_.axes, axis, rank).value_or(rank); } // rank: there is none
    std::int64_t kernelOf(TermId weights, std::size_t d) const; // that weights should have where nothing is decided
    bool isWeights(TermId id) const;                            // a variable of an image pattern that stands for weights

private:
    Shape open(TermId id) const;
    Shape concat(const Term& term, const Shape& a, const Shape& b) const;
    std::int64_t slid(std::int64_t input, std::size_t d) const;

    const Pattern& pattern_;
    const SampleChoices& choices_;
    const Draft& draft_;
    const std::vector<ValueNo>& values_; // by term
};

Shape withLastTwoSwapped(Shape shape);

} // namespace tunesmith::rewrite
