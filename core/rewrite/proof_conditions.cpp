// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/proof_conditions.h"

#include <algorithm>

#include "core/substitution/rule_proof.h"

namespace tunesmith::rewrite {
namespace {

using substitution::ShapeCondition;

// What a condition says of terms; nothing where it is of windows, pools and batches, which terms do not have.
std::vector<ShapeCondition> ofTerms(const Condition& condition, const Pattern& pattern) {
    using Kind = Condition::Kind;
    std::vector<ShapeCondition> all;
    switch (condition.kind) {
    case Kind::oneGroup: return {{ShapeCondition::Kind::oneGroup, condition.a, condition.a, 0}};
    case Kind::pointwise: return {{ShapeCondition::Kind::pointwise, condition.a, condition.a, 0}};
    case Kind::sameExtent: return {{ShapeCondition::Kind::sameExtent, condition.a, condition.b, condition.axis}};
    case Kind::sameShape:
        for (std::uint8_t axis = 0; axis < std::min(pattern.rank[condition.a], pattern.rank[condition.b]); ++axis)
            all.push_back({ShapeCondition::Kind::sameExtent, condition.a, condition.b, axis});
        return all;
    default: return {};
    }
}

// Conditions that a model can be asked for and that say something of terms that the rule was found with.
std::vector<Condition> candidates(const Pattern& pattern) {
    const std::vector<ShapeCondition> ofRule = substitution::conditionsOf(pattern.rule);
    std::vector<Condition> found;
    for (const Condition& condition : conditionsOf(pattern))
        if (const auto meant = ofTerms(condition, pattern); meant.size() == 1 && std::ranges::find(ofRule, meant[0]) != ofRule.end())
            found.push_back(condition);
    return found;
}

// Of two convolutions with as many groups, one of which has one, the other has one as well.
std::vector<Condition> withGroups(std::vector<Condition> conditions) {
    using Kind = Condition::Kind;
    const auto hasOne = [&](TermId conv) { return std::ranges::find(conditions, Condition{Kind::oneGroup, conv}) != conditions.end(); };
    std::vector<Condition> more;
    for (const Condition& condition : conditions)
        if (condition.kind == Kind::sameGroups && (hasOne(condition.a) || hasOne(condition.b)))
            more.insert(more.end(), {{Kind::oneGroup, condition.a}, {Kind::oneGroup, condition.b}});
    std::ranges::copy(more, std::back_inserter(conditions));
    return conditions;
}

class ConditionSearch {
public:
    ConditionSearch(const Rule& rule, bool fromRight, const std::vector<Condition>& told, const StopToken& stop)
        : pattern_(rule, fromRight), told_(told), stop_(stop) {}

    std::optional<std::vector<Condition>> run() const {
        if (isProved({}))
            return told_;
        std::vector<Condition> all = candidates(pattern_);
        if (!isProved(all))
            return std::nullopt;
        std::vector<Condition> fromLast = without(all, all), fromFirst = without(all, {all.rbegin(), all.rend()});
        std::vector<Condition> enough = told_;
        std::ranges::copy_if(fromFirst.size() < fromLast.size() ? fromFirst : fromLast, std::back_inserter(enough),
                             [&](const Condition& more) { return !standsForEqualGroups(more); });
        return enough;
    }

private:
    // Proofs know one group or any, not that two convolutions have as many: where trials told that, one group is proved for all that are equal.
    bool standsForEqualGroups(const Condition& more) const {
        return more.kind == Condition::Kind::oneGroup && std::ranges::any_of(told_, [&](const Condition& told) {
                   return told.kind == Condition::Kind::sameGroups && (told.a == more.a || told.b == more.a);
               });
    }

    bool isProved(const std::vector<Condition>& more) const {
        std::vector<ShapeCondition> meant;
        std::vector<Condition> all = told_;
        std::ranges::copy(more, std::back_inserter(all));
        for (const Condition& condition : withGroups(std::move(all)))
            std::ranges::copy(ofTerms(condition, pattern_), std::back_inserter(meant));
        return searchProofUnder(pattern_.rule, meant, {}, stop_).isFound;
    }

    // Each is left out, from the end of `order` on, if it goes without.
    std::vector<Condition> without(std::vector<Condition> kept, std::vector<Condition> order) const {
        for (; !order.empty() && !stop_.stopRequested(); order.pop_back()) {
            std::vector<Condition> fewer = kept;
            std::erase(fewer, order.back());
            if (isProved(fewer))
                kept = std::move(fewer);
        }
        return kept;
    }

    const Pattern pattern_;
    const std::vector<Condition>& told_;
    const StopToken& stop_;
};

} // namespace

std::optional<std::vector<Condition>> enoughForProof(const Rule& rule, bool fromRight, const std::vector<Condition>& told, const StopToken& stop) {
    return ConditionSearch(rule, fromRight, told, stop).run();
}

} // namespace tunesmith::rewrite
