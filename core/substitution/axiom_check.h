// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>

#include "core/base/stop_token.h"
#include "core/substitution/axioms.h"

namespace tunesmith::substitution {

struct AxiomCheck {
    std::int64_t shapes = 0; // choices of all shapes for which the sides were compared
    std::string problem;     // empty: none; else the shapes with which the axiom is not true
    bool holds() const { return shapes > 0 && problem.empty(); }
};

// Tries an axiom with all shapes of its variables and constants whose extents are 1 to `most` (the last two of an image to 3 at least): matrices,
// images, weights of every kernel and number of groups, single numbers, and cuts anywhere. Where a term that is said to be enough has operands that fit, and the conditions
// hold, both sides must fit and be equal as the reference kernels compute them.
//
// Values are random. Sides that are polynomials are compared modulo two primes near 2^28: sides of degree d that differ as polynomials agree
// by chance with at most (d / 2^28)^2 (Schwartz and Zippel), 10^-15 here, so random values say of a shape what symbols would. What has Relu or the
// largest of a window is, element by element, the largest of some elements and zero, scaled or not: sides differ if the sets do, which one choice of whole numbers
// shows with a chance of one in eleven at least (an element that only one side has is the largest of ten and zero), and there are 24 choices.
AxiomCheck checkAxiom(const Axiom& axiom, int most, const StopToken& stop = {});

} // namespace tunesmith::substitution
