// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rule_rows.h"

#include "core/base/log.h"
#include "core/substitution/rule_text.h"

namespace tunesmith {

using namespace substitution;

RuleRow rowOf(const StoredRule& rule) {
    const std::string status(kRuleStatusNames[static_cast<std::size_t>(rule.status)]);
    return {ruleText(rule.rule), rule.name, rule.origin, status, rule.trials, rule.preconditions, rule.counterExample, 0, rule.proofConditions, rule.whyNotProved};
}

Result<StoredRule> storedOf(const RuleRow& row) {
    StoredRule stored{row.name, {}, row.origin, {}, row.trials, row.preconditions, row.counterExample, row.proofConditions, row.whyNotProved};
    auto rule = parseRule(row.text);
    if (!rule.ok())
        return rule.error().within("rule " + row.name);
    stored.rule = std::move(*rule);
    TS_ASSIGN(stored.status, ruleStatusOf(row.status));
    return stored;
}

std::vector<StoredRule> readableOf(const std::vector<RuleRow>& rows) {
    std::vector<StoredRule> rules;
    for (const RuleRow& row : rows)
        if (auto rule = storedOf(row); rule.ok())
            rules.push_back(std::move(*rule));
        else
            logMessage(LogLevel::warning, "a rule of the store is left out: " + rule.error().message);
    return rules;
}

} // namespace tunesmith
