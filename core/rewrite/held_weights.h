// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/draft.h"

namespace tunesmith::rewrite {

// Weights of 16 bits that a rewrite computes anew (a factor folded into a convolution) may leave the range of their type, or
// come to lie where it has few digits left; the factor applied at run time does not. Whether the nodes that were added since
// `firstNew` read only weights that their type holds: in range where the constants they are made of are finite, and
// no row or column of subnormal numbers alone. What was found is remembered in the table, by label.
bool holdsNewWeights(Draft& draft, NodeNo firstNew);

inline constexpr const char* kHeld = "the weights' type holds what they become"; // that, as a rule's condition

} // namespace tunesmith::rewrite
