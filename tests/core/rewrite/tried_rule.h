// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/rewrite/rule_verdict.h"
#include "core/rewrite/stated_conditions.h"
#include "core/rewrite/stored_substitution.h"
#include "core/substitution/rule_text.h"
#include "rewritten_model.h"

// One rule on one model, wherever it is found there, and rules of terms as verification leaves them.
namespace tunesmith::rewrite {

using Ints = std::vector<std::int64_t>;

struct Tried {
    std::size_t found = 0, applied = 0;
    std::string refusal; // of the last place where it was refused; "not found" where there is no place
    std::string problem; // how a rewritten model differs
};

inline Tried tried(const Graph& graph, const Substitution& rule) {
    const ModelDraft model = draftOf(graph).value();
    const std::vector<Match> matches = matchesOf(model.draft, rule);
    Tried result{matches.size(), 0, matches.empty() ? "not found" : "", {}};
    for (const Match& match : matches) {
        const Applied made = rewrite::applied(model.draft, rule, match);
        if (!made.draft) {
            result.refusal = made.refusal;
            continue;
        }
        ++result.applied;
        const Graph after = foldConstants(graphOf(model, *made.draft, rule.card().name).value()).value();
        if (const std::string difference = differenceBetween(graph, after); !difference.empty())
            result.problem = difference;
    }
    return result;
}

inline substitution::StoredRule verifiedRule(const std::string& text, std::int64_t trials = 300) {
    substitution::StoredRule stored;
    stored.name = "generated/0";
    stored.rule = substitution::parseRule(text).value();
    state(*verifyRule(stored.rule, trials, 1), stored);
    return stored;
}

// Null where it is not for models in that direction.
inline SubstitutionPtr verifiedDirection(const std::string& text, bool fromRight = false) {
    const substitution::StoredRule stored = verifiedRule(text);
    const auto conditions = statedConditions(stored, fromRight);
    return conditions ? std::make_shared<PatternSubstitution>(stored.name, stored.rule, fromRight, *conditions) : nullptr;
}

} // namespace tunesmith::rewrite
