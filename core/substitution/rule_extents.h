// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/substitution/extents.h"
#include "core/substitution/rule.h"

namespace tunesmith::substitution {

// Where a split's cut comes from: a term's extent along an axis (a concat's first operand), or a variable that is put together of parts.
struct CutOrigin {
    TermId node = 0;
    std::uint8_t axis = 0;
    bool ofVariable = false;
    bool operator==(const CutOrigin&) const = default;
};
// Of each split of the rule, by node. Operands that were put together may agree, so a cut may have several origins: they must be equal.
std::vector<std::vector<CutOrigin>> cutOriginsOf(const Rule& rule);

// What a rule may need beyond operands that fit and sides of equal shapes.
struct ShapeCondition {
    enum class Kind : std::uint8_t {
        oneGroup,   // `a` is a convolution
        pointwise,  // `a` is a variable, weights of 1x1
        sameExtent, // of the variables a and b along the axis
        sameCut,    // variables a and b are put together at the same place of the axis
    };
    Kind kind = Kind::oneGroup;
    TermId a = 0, b = 0;
    std::uint8_t axis = 0;
    bool operator==(const ShapeCondition&) const = default;
};
std::string toText(const ShapeCondition& condition, const Rule& rule); // "conv(v1, v2) has one group"

// The conditions that are true of the shapes with which the rule was found: groups first.
std::vector<ShapeCondition> conditionsOf(const Rule& rule);

// Extents in a field: sums and differences modulo 2^61 - 1.
struct FieldExtents {
    static constexpr std::uint64_t kPrime = (std::uint64_t(1) << 61) - 1;
    bool fits = true;

    static std::uint64_t number(std::uint64_t value) { return value; }
    static std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return (a + b) % kPrime; }
    static std::uint64_t difference(std::uint64_t a, std::uint64_t b) { return (a + kPrime - b) % kPrime; }
    static std::uint64_t product(std::uint64_t a, std::uint64_t b);
    static std::uint64_t inverse(std::uint64_t value);
    void same(std::uint64_t a, std::uint64_t b) { fits = fits && a == b; }
};

// One choice of all extents that stands for any: the unknowns that operands that fit, sides of equal shapes and the conditions leave free are random
// numbers of the field. So two sums or products of extents are equal here only if they are equal for all shapes for which the rule says
// something (but for a chance of 2^-58 or so).
struct GenericExtents {
    std::vector<Extents<std::uint64_t>> nodes; // by node of the rule
    std::vector<std::uint64_t> cuts;           // of splits, by node
};
// Nothing where the conditions contradict each other.
std::optional<GenericExtents> genericExtents(const Rule& rule, const std::vector<ShapeCondition>& conditions);

} // namespace tunesmith::substitution
