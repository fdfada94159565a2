// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/store/rows.h"
#include "core/substitution/stored_rule.h"

namespace tunesmith {

// Inside core/workbench only: rules as the store has them, and as what they say.
RuleRow rowOf(const substitution::StoredRule& rule);
Result<substitution::StoredRule> storedOf(const RuleRow& row); // an Error names the rule
std::vector<substitution::StoredRule> readableOf(const std::vector<RuleRow>& rows); // those that can be read; others are logged

} // namespace tunesmith
