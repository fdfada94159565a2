// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/axiom_matcher.h"

#include <algorithm>
#include <map>

namespace tunesmith::substitution {
namespace {

bool isSide(const Axiom& axiom, TermId id) { return id == axiom.rule.left[0] || id == axiom.rule.right[0]; }

std::vector<AxiomUse> usesOf(const Axiom& axiom) {
    const auto origins = cutOriginsOf(axiom.rule);
    if (!isSide(axiom, axiom.legal[0]))
        return {{&axiom, axiom.legal, origins}};
    std::vector<AxiomUse> uses;
    for (const TermId from : axiom.legal)
        if (axiom.rule.nodes[from].op != TermOp::input)
            uses.push_back({&axiom, {from}, origins});
    return uses;
}

} // namespace

const std::vector<AxiomUse>& axiomUses() {
    static const std::vector<AxiomUse> all = [] {
        std::vector<AxiomUse> made;
        for (const Axiom& axiom : axioms())
            std::ranges::copy(usesOf(axiom), std::back_inserter(made));
        return made;
    }();
    return all;
}

AxiomMatcher::AxiomMatcher(const AxiomGraph& graph, const AxiomUse& use) : graph_(graph), use_(use), rule_(use.axiom->rule) {
    binding_.classes.resize(rule_.nodes.size());
    binding_.cuts.resize(rule_.nodes.size());
}

std::vector<AxiomGraph::Binding> AxiomMatcher::run() {
    nextRoot(0);
    return std::move(found_);
}

void AxiomMatcher::nextRoot(std::size_t number) {
    if (number == use_.from.size())
        return check();
    for (ClassId at = 0; at < graph_.graph_.classes(); ++at)
        if (graph_.graph_.isRoot(at)) {
            Goals goals{{use_.from[number], at}};
            solve(goals, number);
        }
}

void AxiomMatcher::solve(Goals& goals, std::size_t number) {
    if (goals.empty())
        return nextRoot(number + 1);
    const auto [id, at] = goals.back();
    goals.pop_back();
    if (binding_.classes[id]) {
        if (*binding_.classes[id] == at)
            solve(goals, number);
    } else {
        binding_.classes[id] = at;
        if (rule_.nodes[id].op == TermOp::input)
            solve(goals, number);
        else
            solveNode(id, at, goals, number);
        binding_.classes[id].reset();
    }
    goals.emplace_back(id, at);
}

void AxiomMatcher::solveNode(TermId id, ClassId at, Goals& goals, std::size_t number) {
    const Term& term = rule_.nodes[id];
    for (const AxiomNode& node : graph_.graph_[at].nodes) {
        if (node.op != term.op || node.axis != term.axis || node.part != term.part)
            continue;
        const std::size_t before = goals.size();
        for (std::size_t i = 0; i < node.count; ++i)
            goals.emplace_back(term.inputs[i], graph_.graph_.root(node.inputs[i]));
        binding_.cuts[id] = node.cut;
        solve(goals, number);
        goals.resize(before);
    }
}

void AxiomMatcher::check() {
    if (cutsFit() && std::ranges::all_of(use_.axiom->conditions, [&](const AxiomCondition& condition) { return holds(condition); }))
        found_.push_back(binding_);
}

// Splits of a variable are of the same one wherever they are found.
bool AxiomMatcher::cutsFit() const {
    std::map<std::pair<TermId, std::uint8_t>, std::uint64_t> ofVariables;
    for (TermId id = 0; id < rule_.nodes.size(); ++id)
        for (const CutOrigin& origin : use_.cutOrigins[id]) {
            if (!binding_.classes[id])
                continue;
            const std::uint64_t cut = binding_.cuts[id];
            const auto ofVariable = [&] { return ofVariables.try_emplace({origin.node, origin.axis}, cut).first->second; };
            if (cut != (origin.ofVariable ? ofVariable() : extent(origin.node, origin.axis)))
                return false;
        }
    return true;
}

bool AxiomMatcher::holds(const AxiomCondition& condition) const {
    const auto product = [&](const std::vector<AxiomExtent>& extents) {
        std::uint64_t result = 1;
        for (const AxiomExtent& each : extents)
            result = FieldExtents::product(result, extent(each.node, each.axis));
        return result;
    };
    return product(condition.left) == product(condition.right);
}

// Both sides have the same.
std::uint64_t AxiomMatcher::extent(TermId id, std::uint8_t axis) const {
    const auto known = binding_.classes[id] ? binding_.classes[id] : binding_.classes[use_.from[0]];
    return graph_.graph_[*known].data.extents[axis];
}

} // namespace tunesmith::substitution
