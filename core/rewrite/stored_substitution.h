// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/pattern_substitution.h"
#include "core/substitution/stored_rule.h"

namespace tunesmith::rewrite {

// What a direction of a rule of terms is to a search. The generator writes down whatever is equal, so many directions lead nowhere:
//   relu(x) = conv_relu(x, identity)          invents a constant: nothing says what for, or how large
//   relu(x) = transpose(relu(transpose(x)))   only makes the graph larger: all operators that are found are built again, and more, so
//                                             it could be applied for ever
//   add(x, y) = add(y, x)                     writes what commutes in another order, which finding does not look at
// These are none, and so is what looks further around than searches look again (Substitution::kReach). A direction that builds nothing, as all of
// its results are among what was found, simplifies: transpose(transpose(x)) = x. All others are moves, dearer graphs or not: a search has alpha
// for that.
enum class DirectionUse : std::uint8_t { none, move, simplification };
DirectionUse useOf(const Pattern& pattern);

// A verified rule as one substitution under its stored name, in the directions that are for models (statedConditions()) and of use. Null where
// there are none.
SubstitutionPtr storedSubstitution(const substitution::StoredRule& rule);

} // namespace tunesmith::rewrite
