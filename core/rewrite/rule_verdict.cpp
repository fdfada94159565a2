// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/rule_verdict.h"

#include <algorithm>

#include "core/base/hash.h"
#include "core/rewrite/proof_conditions.h"
#include "core/rewrite/stated_conditions.h"
#include "core/substitution/rule_text.h"

namespace tunesmith::rewrite {
namespace {

using substitution::RuleStatus;
using Outcome = RuleVerdict::Outcome;

constexpr std::int64_t kFoundShapeTrials = 500;

// The same for a rule wherever it stands among others.
std::uint64_t seedOf(const Rule& rule, std::uint64_t seed) { return Hasher().add(substitution::ruleText(rule)).add(seed).value(); }

std::string counterExampleWhereFound(const Rule& rule, std::uint64_t seed, const StopToken& stop) {
    for (std::int64_t i = 0; i < kFoundShapeTrials && !stop.stopRequested(); ++i)
        if (!substitution::holdsForReals(rule, seed + static_cast<std::uint64_t>(i))) {
            std::string text = "the sides differ with";
            for (const auto& [name, shape] : substitution::namedRule(rule).variables)
                text += " " + name + ": " + substitution::toText(shape) + ",";
            text.pop_back();
            return text;
        }
    return {};
}

DirectionVerdict verifyDirection(const Rule& rule, bool fromRight, std::int64_t trials, std::uint64_t seed, const StopToken& stop) {
    NarrowedRule narrowed = narrow(rule, fromRight, trials, seed, stop);
    if (narrowed.usable())
        narrowed.conditions = enoughForProof(rule, fromRight, narrowed.conditions, stop).value_or(narrowed.conditions);
    return {fromRight, narrowed.usable(), std::move(narrowed.conditions), narrowed.verdict.counts.compared, std::move(narrowed.counterExample)};
}

Outcome outcomeOf(const RuleVerdict& verdict, bool holdsWhereFound) {
    const auto usable = [](const DirectionVerdict& direction) { return direction.forModels; };
    const auto failed = [](const DirectionVerdict& direction) { return !direction.counterExample.empty() || !direction.conditions.empty(); };
    if (!holdsWhereFound)
        return Outcome::refuted;
    if (std::ranges::any_of(verdict.directions, usable))
        return std::ranges::any_of(verdict.directions, failed) ? Outcome::guarded : Outcome::sound;
    return std::ranges::any_of(verdict.directions, failed) ? Outcome::refuted : Outcome::foundShapesOnly;
}

} // namespace

std::optional<RuleVerdict> verifyRule(const Rule& rule, std::int64_t trials, std::uint64_t seed, const StopToken& stop) {
    const std::uint64_t own = seedOf(rule, seed);
    RuleVerdict verdict;
    verdict.counterExample = counterExampleWhereFound(rule, own, stop);
    const bool holdsWhereFound = verdict.counterExample.empty();
    for (const bool fromRight : directionsOf(rule)) {
        verdict.directions.push_back(verifyDirection(rule, fromRight, trials, own, stop));
        verdict.trials += verdict.directions.back().trials;
        if (verdict.counterExample.empty() && !verdict.directions.back().counterExample.empty())
            verdict.counterExample = (fromRight ? "right to left: " : "left to right: ") + verdict.directions.back().counterExample;
    }
    verdict.outcome = outcomeOf(verdict, holdsWhereFound);
    if (verdict.trials == 0)
        verdict.trials = kFoundShapeTrials;
    return stop.stopRequested() ? std::nullopt : std::optional(std::move(verdict));
}

int applicableDirections(const Rule& rule, std::uint64_t seed, const StopToken& stop) {
    int applicable = 0;
    for (const bool fromRight : directionsOf(rule))
        applicable += verify(PatternSubstitution("", rule, fromRight), 1, seedOf(rule, seed), stop).counts.compared > 0 ? 1 : 0;
    return applicable;
}

std::string counterExampleAsTaso(const substitution::StoredRule& rule, std::int64_t trials, std::uint64_t seed, const StopToken& stop) {
    const std::uint64_t own = seedOf(rule.rule, seed);
    for (const bool fromRight : directionsOf(rule.rule)) {
        const PatternSubstitution read("", rule.rule, fromRight, statedConditions(rule, fromRight).value_or(std::vector<Condition>()), Reading::taso);
        const Verdict verdict = verify(read, trials, own, stop);
        if (verdict.counts.compared > 0)
            return verdict.counterExample;
    }
    return counterExampleWhereFound(rule.rule, own, stop);
}

void state(const RuleVerdict& verdict, substitution::StoredRule& rule) {
    const bool isRefuted = verdict.outcome == Outcome::refuted;
    if (isRefuted || rule.status != RuleStatus::proved)
        rule.status = isRefuted ? RuleStatus::refuted : RuleStatus::tested;
    rule.trials = verdict.trials;
    rule.counterExample = verdict.counterExample;
    rule.preconditions.clear();
    if (verdict.directions.empty() && !isRefuted)
        rule.preconditions = {onlyFoundShapesText(false), onlyFoundShapesText(true)};
    for (const DirectionVerdict& direction : verdict.directions) {
        const Pattern pattern(rule.rule, direction.fromRight);
        if (!direction.forModels && !isRefuted)
            rule.preconditions.push_back(onlyFoundShapesText(direction.fromRight));
        for (const Condition& condition : direction.conditions)
            if (direction.forModels && !isRefuted)
                rule.preconditions.push_back(statedText(direction.fromRight, condition, pattern));
    }
}

} // namespace tunesmith::rewrite
