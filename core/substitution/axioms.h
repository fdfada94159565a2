// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/substitution/rule.h"

namespace tunesmith::substitution {

// One extent of a term of an axiom.
struct AxiomExtent {
    TermId node = 0;
    std::uint8_t axis = 0;
};

// An equation between products of extents, up to two on each side; of none it is 1.
struct AxiomCondition {
    std::vector<AxiomExtent> left, right;
};

// An equation between terms that is true at all shapes: where one of the terms `legal` has operands that fit and the conditions hold, the operands
// of both sides fit, and the sides are equal. Each of those terms has all variables. Constants are of any extents (their kernels are part of their
// names; one that is the right side has the extents of the left), and splits cut where the shapes of the terms say, a variable anywhere. The shapes
// that the rule has are an example.
//
// Written from the algebra of the operators: sums, products and convolutions are linear in each operand, concat and split move blocks about,
// Relu and the largest of a window are monotone and look at elements one by one or at a window of one channel.
struct Axiom {
    std::string name;
    Rule rule;
    std::vector<AxiomCondition> conditions;
    std::vector<TermId> legal;
    bool piecewise = false; // has Relu or the largest of a window: no polynomial
};

const std::vector<Axiom>& axioms();

} // namespace tunesmith::substitution
