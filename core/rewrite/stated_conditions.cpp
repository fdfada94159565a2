// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/stated_conditions.h"

#include <algorithm>

#include "core/rewrite/pattern_substitution.h"

namespace tunesmith::rewrite {
namespace {

constexpr std::string_view kOnlyFoundShapes = "only with the shapes that it was found with";

std::string_view directionText(bool fromRight) { return fromRight ? "right to left: " : "left to right: "; }

} // namespace

std::string statedText(bool fromRight, const Condition& condition, const Pattern& pattern) {
    return std::string(directionText(fromRight)) + toText(condition, pattern);
}

std::string onlyFoundShapesText(bool fromRight) { return std::string(directionText(fromRight)) + std::string(kOnlyFoundShapes); }

std::optional<std::vector<Condition>> statedConditions(const substitution::StoredRule& rule, bool fromRight) {
    if (rule.status == substitution::RuleStatus::untested || rule.status == substitution::RuleStatus::refuted)
        return std::nullopt;
    if (std::ranges::count(directionsOf(rule.rule), fromRight) == 0)
        return std::nullopt;
    const Pattern pattern(rule.rule, fromRight);
    std::vector<Condition> conditions;
    for (const std::string_view text : rule.preconditions) {
        if (text.starts_with(directionText(!fromRight)))
            continue;
        const auto condition = text.starts_with(directionText(fromRight)) ? parseCondition(text.substr(directionText(fromRight).size()), pattern) : std::nullopt;
        if (!condition)
            return std::nullopt;
        conditions.push_back(*condition);
    }
    return conditions;
}

} // namespace tunesmith::rewrite
