// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/substitution.h"

namespace tunesmith::rewrite {

// Whether an application kept what a draft computes, by the reference kernels on random inputs: what builds with assertions ask of a sample of all
// applications (applied()), besides the trials that every rule has gone through. Only small drafts can be asked about, whose inputs are floats
// and whose shapes are static.
bool canBeChecked(const Draft& draft);
// One in sixteen of those, the same ones in every run.
bool isInCheckedSample(const Draft& before, const Draft& after);

// Nothing where both compute the same or it cannot be told, else which rule is wrong and how: "merge-products: result 0 is 3 at element 5, not 7".
std::optional<std::string> mistakeOf(const Substitution& substitution, const Draft& before, const Draft& after);

} // namespace tunesmith::rewrite
