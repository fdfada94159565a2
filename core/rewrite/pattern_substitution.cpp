// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/pattern_substitution.h"

#include <algorithm>

#include "core/rewrite/pattern_constants.h"
#include "core/rewrite/pattern_sample.h"
#include "core/substitution/term_graph.h"

namespace tunesmith::rewrite {
namespace {

bool readsVariables(const Pattern& pattern) {
    for (TermId id = 0; id < pattern.rule.nodes.size(); ++id)
        if (pattern.inFrom[id] && pattern.rule.nodes[id].op == TermOp::input)
            return true;
    return false;
}

// The operator of models whose results a term can be; empty where it may be any.
std::string_view operatorOf(TermOp op) {
    switch (op) {
    case TermOp::matmul: return "MatMul";
    case TermOp::add: return "Add";
    case TermOp::mul:
    case TermOp::scale: return "Mul";
    case TermOp::conv: return "Conv";
    case TermOp::averagePool: return "AveragePool";
    case TermOp::maxPool: return "MaxPool";
    case TermOp::enlarge: return "Pad";
    case TermOp::relu:
    case TermOp::convRelu: return "Relu";
    case TermOp::concat: return "Concat";
    case TermOp::split: return "Split";
    case TermOp::transpose: return "Transpose";
    default: return {};
    }
}

} // namespace

PatternSubstitution::PatternSubstitution(std::string name, Rule rule, bool fromRight, std::vector<Condition> conditions, Reading reading)
    : Substitution({std::move(name), {}, {}, false}), pattern_(std::move(rule), fromRight), conditions_(std::move(conditions)), reading_(reading),
      anchor_(operatorOf(pattern_.rule.nodes[pattern_.from[0]].op)) {
    for (std::size_t i = 0; i < pattern_.from.size(); ++i)
        card_.equation += (i ? "; " : "") + substitution::termText(pattern_.rule, pattern_.from[i]);
    card_.equation += " = ";
    for (std::size_t i = 0; i < pattern_.to.size(); ++i)
        card_.equation += (i ? "; " : "") + substitution::termText(pattern_.rule, pattern_.to[i]);
    for (const Condition& condition : conditions_)
        card_.conditions.push_back(toText(condition, pattern_));
}

void PatternSubstitution::find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const {
    if (!anchor_.empty() && !draft.is(anchor, anchor_))
        return;
    std::vector<std::vector<ValueNo>> values;
    findPattern(pattern_, draft, anchor, values);
    for (auto& each : values)
        found.push_back({anchor, std::move(each)});
}

std::string_view PatternSubstitution::apply(Draft& draft, const Match& match) const {
    const auto binding = bindingOf(pattern_, draft, match.values);
    if (!binding)
        return "its operators have changed";
    for (std::size_t i = 0; i < conditions_.size(); ++i)
        if (!holds(conditions_[i], pattern_, draft, *binding))
            return card_.conditions[i];
    return buildPattern(pattern_, draft, *binding);
}

std::optional<Draft> PatternSubstitution::sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const { return samplePattern(pattern_, reading_, table, rng); }

std::vector<bool> directionsOf(const Rule& rule) {
    std::vector<bool> directions;
    if (!kernelsAreWeights(rule))
        return directions;
    for (const substitution::Rewrite& rewrite : substitution::rewritesOf(rule))
        if (const bool fromRight = rewrite.from == &rule.right; readsVariables(Pattern(rule, fromRight)))
            directions.push_back(fromRight);
    return directions;
}

} // namespace tunesmith::rewrite
