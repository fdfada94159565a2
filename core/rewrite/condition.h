// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/rewrite/pattern.h"

namespace tunesmith::rewrite {

// What a rule may need beyond shapes that fit. Which conditions a rule has, verification finds out: it is given those that tell the cases in
// which the rule is true from those in which it is not.
struct Condition {
    enum class Kind : std::uint8_t {
        oneGroup,      // of a convolution
        sameGroups,    // of two
        sameShape,     // of two terms
        sameExtent,    // of two terms along an axis
        plainMatrix,   // no batch dimensions
        pointwise,     // weights of 1x1
        oddKernel,     // weights
        unitStride,    // of all convolutions
        keepsSize,     // all convolutions: pads of half a kernel on each side
        poolKeepsSize, // stride 1, pads of half a window
        poolCountsPads,
        poolWithoutPads,
    };
    Kind kind;
    TermId a = 0, b = 0;
    std::uint8_t axis = 0;
    bool operator==(const Condition&) const = default;
};

// Conditions that can be told apart for this pattern. Of two that come to the same, what people would say is before the other.
std::vector<Condition> conditionsOf(const Pattern& pattern);
bool holds(const Condition& condition, const Pattern& pattern, const Draft& draft, const Binding& binding);
std::string toText(const Condition& condition, const Pattern& pattern); // "conv(v1, v2) has one group"
std::optional<Condition> parseCondition(std::string_view text, const Pattern& pattern); // what toText wrote for this pattern

} // namespace tunesmith::rewrite
