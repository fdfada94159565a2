// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/rewrite/condition.h"
#include "core/substitution/stored_rule.h"

namespace tunesmith::rewrite {

// What is known of a rule's directions, as the preconditions that are kept with it say it:
//   left to right: conv(v1, v2) has one group
//   right to left: only with the shapes that it was found with
// The second is for a direction that is not for models: none was found in which it can be applied, or none of the conditions that there are
// makes it true.
std::string statedText(bool fromRight, const Condition& condition, const Pattern& pattern);
std::string onlyFoundShapesText(bool fromRight);

// The conditions under which a rule may be applied to models in a direction. Nothing where it may not: it is untested or refuted, or says
// something of the direction that is no condition of ours, or there is no such direction.
std::optional<std::vector<Condition>> statedConditions(const substitution::StoredRule& rule, bool fromRight);

} // namespace tunesmith::rewrite
