// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/condition.h"
#include "core/rewrite/sample_choices.h"
#include "core/rewrite/substitution.h"

namespace tunesmith::rewrite {

// A rule of terms as a substitution on models, in one direction, where its conditions hold. The reading is that of sample(): what is tried, not what is found.
class PatternSubstitution : public Substitution {
public:
    PatternSubstitution(std::string name, Rule rule, bool fromRight, std::vector<Condition> conditions = {}, Reading reading = Reading::wide);

    const Pattern& pattern() const { return pattern_; }
    const std::vector<Condition>& conditions() const { return conditions_; }

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override;
    std::string_view apply(Draft& draft, const Match& match) const override;
    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override;

private:
    Pattern pattern_;
    std::vector<Condition> conditions_;
    Reading reading_;
    std::string_view anchor_; // the operator that makes the first result
};

// The directions in which a rule can be read on models: from no variable, to nothing that has variables of its own, and not from constants alone,
// which folding computes. None where the constants stand for images.
std::vector<bool> directionsOf(const Rule& rule); // each: from the right

} // namespace tunesmith::rewrite
