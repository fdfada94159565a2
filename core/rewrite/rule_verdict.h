// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/verification.h"
#include "core/substitution/stored_rule.h"

namespace tunesmith::rewrite {

// One direction of a rule after its trials.
struct DirectionVerdict {
    bool fromRight = false;
    bool forModels = false;            // it was applied, and is true under the conditions
    std::vector<Condition> conditions; // of what is for models: those that trials tell, and what a proof needs besides
    std::int64_t trials = 0;           // comparisons under those
    std::string counterExample;        // to the direction without conditions; empty: none was found
};

// A rule of terms after its trials.
struct RuleVerdict {
    enum class Outcome : std::uint8_t {
        sound,      // in each direction that can be applied, as it stands
        guarded,    // under conditions
        refuted,    // for the very shapes that it was found with, or wherever it can be applied
        foundShapesOnly, // no model was found in which it can be applied; it holds for the shapes that it was found with
    };
    Outcome outcome = Outcome::foundShapesOnly;
    std::vector<DirectionVerdict> directions;
    std::int64_t trials = 0; // of all directions; where none is for models, with the shapes that it was found with
    std::string counterExample;

    bool forModels() const { return outcome == Outcome::sound || outcome == Outcome::guarded; }
};

// Each direction with so many trials, and the equation itself with the shapes that it was found with. The seed and the rule decide what is
// tried. Nothing if it was stopped.
std::optional<RuleVerdict> verifyRule(const Rule& rule, std::int64_t trials, std::uint64_t seed, const StopToken& stop = {});

// In how many directions some model was found in which the rule can be applied.
int applicableDirections(const Rule& rule, std::uint64_t seed, const StopToken& stop = {});

// A counter-example to a rule as TASO reads it (Reading::taso), in the direction in which it is written if that can be applied; empty if none was
// found. What is stated with the rule may not be violated.
std::string counterExampleAsTaso(const substitution::StoredRule& rule, std::int64_t trials, std::uint64_t seed, const StopToken& stop = {});

// Writes what is known now: status, trials, preconditions (stated_conditions.h) and counter-example. A proof stays one unless the rule is refuted.
void state(const RuleVerdict& verdict, substitution::StoredRule& rule);

} // namespace tunesmith::rewrite
