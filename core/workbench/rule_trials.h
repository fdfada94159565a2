// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/rewrite/rule_verdict.h"
#include "core/store/store.h"
#include "core/workbench/rule_verification.h"

namespace tunesmith {

// Inside core/workbench only.

struct VerifiedRule {
    rewrite::RuleVerdict verdict;
    substitution::StoredRule rule; // as it is kept now
};

// Proves and tries rules of the store and writes down what came of it, for those that were reached. By row; nothing for the others.
Result<std::vector<std::optional<VerifiedRule>>> verifyRows(Store& store, std::vector<RuleRow> rows, const RuleTrialOptions& options, const Work& work);

// By rule: a counter-example as TASO reads it, or nothing.
std::vector<std::string> counterExamplesAsTaso(const std::vector<substitution::StoredRule>& rules, const RuleTrialOptions& options, const Work& work);

} // namespace tunesmith
