// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/substitution/rule.h"

namespace tunesmith::substitution {

// What is known of a rule beyond the shapes that it was found with.
enum class RuleStatus : std::uint8_t { untested, tested, proved, refuted };
inline constexpr std::array<std::string_view, 4> kRuleStatusNames{"untested", "tested", "proved", "refuted"}; // by RuleStatus
Result<RuleStatus> ruleStatusOf(std::string_view name);

// A rule with where it comes from and what is known of it, as it is kept.
struct StoredRule {
    std::string name; // "generated/17", "taso/98"
    Rule rule;
    std::string origin;                     // "generated", "taso 98"
    RuleStatus status = RuleStatus::untested;
    std::int64_t trials = 0;                // how many choices of shapes and values it was tested with
    std::vector<std::string> preconditions; // under which it is said to hold: "left to right: conv(v1, v2) has one group"
    std::string counterExample;             // with which it is refuted; of what is not, a case in which it fails without the preconditions
    std::vector<std::string> proofConditions; // of what is proved: enough for the proof, which is of terms (rule_proof.h)
    std::string whyNotProved;                 // "no proof was found"; empty: it is proved, or nobody has tried
};

// The rule as a line of text (rule_text.h), and after it what is known, each behind a semicolon:
//   ... where v1: 2x4; name: taso/98; origin: taso 98; status: tested 1800; if: left to right: conv(v1, v2) has one group; otherwise: ...
// A proof's conditions are `proved if`, and why there is no proof is `not proved`. A counter-example is `otherwise`, and `refuted by` of a rule that
// is refuted; either is read. What is empty is left out, and so is the status of an untested rule. Within a value, \; \\ and \n stand for a
// semicolon, a backslash and the end of a line. Values have no blanks around them. Conditions name terms, so a rule that has some must be
// written as ruleText() does.
std::string storedRuleText(const StoredRule& rule);
Result<StoredRule> parseStoredRule(std::string_view line); // errors name the column

// A file of such lines. Empty lines and those that begin with # say nothing. Errors name the line.
std::string storedRulesText(std::span<const StoredRule> rules);
Result<std::vector<StoredRule>> parseStoredRules(std::string_view text);

} // namespace tunesmith::substitution
