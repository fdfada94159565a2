// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <vector>

#include "core/base/rng.h"
#include "core/substitution/term.h"

namespace tunesmith::substitution {

// What a term is worth with the operators as they are, Relu and the largest of a window among them. Inputs are small whole numbers of
// both signs, so that sums of products are exact; only means are rounded.
using RealValue = std::vector<double>;

RealValue randomReal(const TermShape& shape, Rng& rng);

struct RealOperand {
    TermShape shape;
    std::span<const double> value;
};
RealValue evaluateReal(const Term& term, const TermShape& shape, const RealOperand& a, const RealOperand& b);

bool areEqual(const RealValue& a, const RealValue& b); // but for the rounding of means

} // namespace tunesmith::substitution
