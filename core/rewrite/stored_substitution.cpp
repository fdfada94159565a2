// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/stored_substitution.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/rewrite/stated_conditions.h"

namespace tunesmith::rewrite {
namespace {

using substitution::StoredRule;
using substitution::traits;

std::set<TermId> termsOf(const Rule& rule, const std::vector<TermId>& results) {
    std::set<TermId> seen;
    std::vector<TermId> open = results;
    while (!open.empty()) {
        const TermId id = open.back();
        open.pop_back();
        const Term& term = rule.nodes[id];
        if (seen.insert(id).second && term.op != TermOp::input)
            open.insert(open.end(), term.inputs.begin(), term.inputs.begin() + traits(term.op).inputs);
    }
    return seen;
}

bool isConstant(const Term& term) { return term.op != TermOp::input && traits(term.op).inputs == 0; }

// How many nodes of each operator a model has for these terms: both parts of a split are one.
std::map<TermOp, int> operatorsOf(const Rule& rule, const std::set<TermId>& terms) {
    std::map<TermOp, int> counts;
    std::set<std::pair<TermId, std::uint8_t>> splits;
    for (const TermId id : terms) {
        const Term& term = rule.nodes[id];
        if (term.op == TermOp::input || isConstant(term) || (term.op == TermOp::split && !splits.insert({term.inputs[0], term.axis}).second))
            continue;
        ++counts[term.op == TermOp::convRelu ? TermOp::conv : term.op];
        counts[TermOp::relu] += term.op == TermOp::convRelu ? 1 : 0;
    }
    return counts;
}

// Whether there are as many of each, and more of some.
bool isLarger(const std::map<TermOp, int>& built, const std::map<TermOp, int>& found) {
    const auto count = [](const std::map<TermOp, int>& of, TermOp op) { return of.contains(op) ? of.at(op) : 0; };
    return std::ranges::all_of(found, [&](const auto& each) { return count(built, each.first) >= each.second; }) &&
           std::ranges::any_of(built, [&](const auto& each) { return each.second > count(found, each.first); });
}

// How far from the anchor finding looks, in nodes that share a value.
int reachOf(const Pattern& pattern) {
    std::vector<std::set<TermId>> nodes; // what each makes and reads
    std::set<TermId> near;
    const auto add = [&](TermId made, std::set<TermId> values) {
        values.insert(made);
        if (made == pattern.from[0])
            near = values;
        nodes.push_back(std::move(values));
    };
    for (const TermId id : termsOf(pattern.rule, pattern.from)) {
        const Term& term = pattern.rule.nodes[id];
        const TermId between = static_cast<TermId>(pattern.rule.nodes.size()) + id; // the nodes of a convRelu
        if (term.op == TermOp::convRelu)
            add(id, {between});
        if (term.op != TermOp::input && !isConstant(term))
            add(term.op == TermOp::convRelu ? between : id, {term.inputs.begin(), term.inputs.begin() + traits(term.op).inputs});
    }
    for (int steps = 0;; ++steps) {
        const std::set<TermId> before = near;
        for (const std::set<TermId>& node : nodes)
            if (std::ranges::any_of(node, [&](TermId id) { return before.contains(id); }))
                near.insert(node.begin(), node.end());
        if (near == before)
            return steps;
    }
}

bool sameButForOrder(const Rule& rule, TermId a, TermId b) {
    const Term &s = rule.nodes[a], &t = rule.nodes[b];
    const int inputs = s.op == TermOp::input ? 0 : traits(s.op).inputs;
    if (a == b || s.op != t.op || s.axis != t.axis || s.part != t.part || inputs == 0)
        return a == b;
    const auto same = [&](std::size_t i, std::size_t j) { return sameButForOrder(rule, s.inputs[i], t.inputs[j]); };
    return inputs == 1 ? same(0, 0) : (same(0, 0) && same(1, 1)) || (traits(s.op).commutes && same(0, 1) && same(1, 0));
}

// "proved for all shapes; tried on 1800 random models".
std::string evidenceOf(const StoredRule& rule) {
    std::string text;
    if (rule.status == substitution::RuleStatus::proved) {
        text = "proved for all shapes";
        for (const std::string& condition : rule.proofConditions)
            text += (condition == rule.proofConditions.front() ? " where " : ", ") + condition;
    }
    if (!rule.whyNotProved.empty())
        text = "not proved: " + rule.whyNotProved;
    return rule.trials == 0 ? text : text + (text.empty() ? "" : "; ") + "tried on " + std::to_string(rule.trials) + " random models";
}

class StoredSubstitution : public Substitution {
public:
    StoredSubstitution(const StoredRule& rule, std::vector<PatternSubstitution> directions, bool simplifies)
        : Substitution(directions[0].card()), directions_(std::move(directions)) {
        card_.simplifies = simplifies;
        if (directions_.size() > 1)
            card_.conditions = rule.preconditions; // which say of what direction they are
        card_.evidence = evidenceOf(rule);
    }

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        for (std::uint32_t way = 0; way < directions_.size(); ++way) {
            const std::size_t before = found.size();
            directions_[way].find(draft, anchor, found);
            for (std::size_t i = before; i < found.size(); ++i)
                found[i].way = way;
        }
    }

    // What was found may read something else now, so it must be found again.
    std::string_view apply(Draft& draft, const Match& match) const override {
        std::vector<Match> found;
        if (match.anchor < draft.nodes() && draft.isAlive(match.anchor))
            find(draft, match.anchor, found);
        return std::ranges::find(found, match) == found.end() ? "it is not there any more" : directions_[match.way].apply(draft, match);
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        return directions_[rng.below(directions_.size())].sample(table, rng);
    }

private:
    std::vector<PatternSubstitution> directions_;
};

} // namespace

DirectionUse useOf(const Pattern& pattern) {
    const Rule& rule = pattern.rule;
    const std::set<TermId> found = termsOf(rule, pattern.from), built = termsOf(rule, pattern.to);
    const auto isFound = [&](TermId id) { return found.contains(id); };
    if (reachOf(pattern) > Substitution::kReach)
        return DirectionUse::none;
    if (std::ranges::all_of(pattern.to, isFound))
        return DirectionUse::simplification;
    const bool invents = std::ranges::any_of(built, [&](TermId id) { return isConstant(rule.nodes[id]) && !isFound(id); });
    const bool grows = isLarger(operatorsOf(rule, built), operatorsOf(rule, found));
    const bool reorders = std::ranges::equal(pattern.from, pattern.to, [&](TermId a, TermId b) { return sameButForOrder(rule, a, b); });
    return invents || grows || reorders ? DirectionUse::none : DirectionUse::move;
}

// Where one direction simplifies, the other begins at a variable or only makes the graph larger: so a rule simplifies, or is a choice.
SubstitutionPtr storedSubstitution(const StoredRule& rule) {
    std::vector<PatternSubstitution> directions;
    bool simplifies = true;
    for (const bool fromRight : directionsOf(rule.rule)) {
        const DirectionUse use = useOf(Pattern(rule.rule, fromRight));
        auto conditions = use == DirectionUse::none ? std::nullopt : statedConditions(rule, fromRight);
        if (!conditions)
            continue;
        directions.emplace_back(rule.name, rule.rule, fromRight, std::move(*conditions));
        simplifies = simplifies && use == DirectionUse::simplification;
    }
    return directions.empty() ? nullptr : std::make_shared<StoredSubstitution>(rule, std::move(directions), simplifies);
}

} // namespace tunesmith::rewrite
