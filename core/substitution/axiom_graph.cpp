// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/axiom_graph.h"

#include <algorithm>

#include "core/substitution/axiom_matcher.h"

namespace tunesmith::substitution {
namespace {

bool isConstant(TermOp op) { return op != TermOp::input && traits(op).inputs == 0; }

AxiomNode nodeOf(const Term& term, std::uint64_t cut) {
    AxiomNode node;
    node.op = term.op;
    node.axis = term.axis;
    node.part = term.part;
    node.count = static_cast<std::uint8_t>(traits(term.op).inputs);
    node.cut = term.op == TermOp::split ? cut : 0;
    return node;
}

// How many operands, from the first on, are as long as the result along an axis.
std::size_t operandsAlong(const AxiomNode& node, std::uint8_t axis) {
    switch (node.op) {
    case TermOp::add:
    case TermOp::mul: return 2;
    case TermOp::relu:
    case TermOp::scale: return 1;
    case TermOp::averagePool:
    case TermOp::maxPool: return 1;
    case TermOp::concat: return node.axis == axis ? 0 : 2;
    default: return 0;
    }
}

Term termOf(const AxiomNode& node) { return {node.op, node.axis, node.part, {0, node.count > 1 ? 1 : kNoTerm}}; }

} // namespace

std::size_t AxiomNode::hash() const {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
    std::uint64_t hash = static_cast<std::uint64_t>(op) | std::uint64_t(axis) << 8 | std::uint64_t(part) << 16;
    hash = (hash ^ cut) * kFactor;
    for (const std::uint64_t extent : own)
        hash = (hash ^ extent ^ hash >> 29) * kFactor;
    hash = (hash ^ (std::uint64_t(inputs[0]) << 32 | inputs[1])) * kFactor;
    return hash ^ (hash >> 32);
}

AxiomGraph::AxiomGraph(const Rule& rule, const GenericExtents& extents) {
    std::vector<ClassId> classes;
    for (TermId id = 0; id < rule.nodes.size(); ++id) {
        const Term& term = rule.nodes[id];
        AxiomNode node = nodeOf(term, extents.cuts[id]);
        if (term.op == TermOp::input)
            node.cut = term.inputs[0];
        if (isConstant(term.op))
            node.own = extents.nodes[id];
        for (std::size_t i = 0; i < node.count; ++i)
            node.inputs[i] = classes[term.inputs[i]];
        classes.push_back(add(node, extents.nodes[id]));
    }
    for (std::size_t i = 0; i < rule.left.size(); ++i) {
        goals_.emplace_back(classes[rule.left[i]], classes[rule.right[i]]);
        problem_.goals.emplace_back(graph_[classes[rule.left[i]]].data.call, graph_[classes[rule.right[i]]].data.call);
    }
}

bool AxiomGraph::goalsAreMet() const {
    return std::ranges::all_of(goals_, [&](const auto& goal) { return graph_.root(goal.first) == graph_.root(goal.second); });
}

ProofProblem AxiomGraph::problem() const {
    ProofProblem problem = problem_;
    problem.isFound = goalsAreMet();
    return problem;
}

bool AxiomGraph::apply(std::size_t mostNodes, const StopToken& stop) {
    bool changed = addOtherParts();
    std::vector<std::pair<const Axiom*, Binding>> found;
    for (const AxiomUse& use : axiomUses()) {
        if (stop.stopRequested())
            return false;
        for (Binding& binding : AxiomMatcher(*this, use).run())
            found.emplace_back(use.axiom, std::move(binding));
    }
    for (auto& [axiom, binding] : found)
        if (graph_.nodes() < mostNodes)
            changed |= use(*axiom, binding);
    graph_.rebuild();
    return changed;
}

// Where one part of a split is, the other may be, and so may the parts of operands that are as long.
bool AxiomGraph::addOtherParts() {
    std::vector<AxiomNode> parts;
    const auto offer = [&](AxiomNode split, ClassId of) {
        split.inputs[0] = of;
        for (const std::uint8_t part : {std::uint8_t(0), std::uint8_t(1)}) {
            split.part = part;
            parts.push_back(split);
        }
    };
    for (ClassId at = 0; at < graph_.classes(); ++at)
        for (const AxiomNode& split : graph_.isRoot(at) ? graph_[at].nodes : std::vector<AxiomNode>()) {
            if (split.op != TermOp::split)
                continue;
            offer(split, split.inputs[0]);
            for (const AxiomNode& node : graph_[split.inputs[0]].nodes)
                for (std::size_t i = 0; i < operandsAlong(node, split.axis); ++i)
                    offer(split, node.inputs[i]);
        }
    const std::size_t before = graph_.classes();
    for (const AxiomNode& part : parts)
        addOperator(part);
    return graph_.classes() > before;
}

bool AxiomGraph::use(const Axiom& axiom, Binding& binding) {
    const TermId left = axiom.rule.left[0], right = axiom.rule.right[0];
    const auto a = make(axiom.rule, left, binding);
    const auto b = a && isConstant(axiom.rule.nodes[right].op) ? makeConstant(axiom.rule, right, *a, binding) : make(axiom.rule, right, binding);
    if (!a || !b || graph_[*a].data.extents != graph_[*b].data.extents)
        return ++refused_, false;
    if (graph_.root(*a) == graph_.root(*b))
        return false;
    problem_.steps.push_back({axiom.name, written(axiom.rule, left, binding), written(axiom.rule, right, binding)});
    return graph_.merge(*a, *b);
}

std::optional<AxiomGraph::ClassId> AxiomGraph::make(const Rule& rule, TermId id, Binding& binding) {
    if (binding.classes[id])
        return graph_.root(*binding.classes[id]);
    const Term& term = rule.nodes[id];
    if (term.op == TermOp::split || traits(term.op).inputs == 0)
        return std::nullopt; // an axiom that needs them says them of legal terms
    AxiomNode node = nodeOf(term, 0);
    for (std::size_t i = 0; i < node.count; ++i) {
        const auto operand = make(rule, term.inputs[i], binding);
        if (!operand)
            return std::nullopt;
        node.inputs[i] = *operand;
    }
    return binding.classes[id] = addOperator(node);
}

// A constant that is a whole side has the extents of the other.
std::optional<AxiomGraph::ClassId> AxiomGraph::makeConstant(const Rule& rule, TermId id, ClassId other, Binding& binding) {
    AxiomNode node = nodeOf(rule.nodes[id], 0);
    node.own = graph_[other].data.extents;
    return binding.classes[id] = add(node, node.own);
}

std::optional<AxiomGraph::ClassId> AxiomGraph::addOperator(const AxiomNode& node) {
    FieldExtents field;
    const Extents<std::uint64_t> none{};
    const auto operand = [&](std::size_t i) { return i < node.count ? graph_[node.inputs[i]].data.extents : none; };
    const auto extents = extentsOf(field, termOf(node), operand(0), operand(1), node.cut);
    return field.fits ? std::optional(add(node, extents)) : std::nullopt;
}

AxiomGraph::ClassId AxiomGraph::add(const AxiomNode& node, const Extents<std::uint64_t>& extents) {
    return graph_.add(node, [&] {
        std::vector<std::size_t> operands;
        for (std::size_t i = 0; i < node.count; ++i)
            operands.push_back(graph_[node.inputs[i]].data.call);
        return AxiomClass{extents, call(node, operands)};
    });
}

std::size_t AxiomGraph::call(const AxiomNode& node, std::vector<std::size_t> operands) {
    const auto [known, isNew] = numbers_.try_emplace({functionOf(node), operands}, problem_.calls.size());
    if (isNew)
        problem_.calls.push_back({known->first.first, std::move(operands)});
    return known->second;
}

// A term of an axiom over the first terms of its variables' classes.
std::size_t AxiomGraph::written(const Rule& rule, TermId id, const Binding& binding) {
    const Term& term = rule.nodes[id];
    if (term.op == TermOp::input || isConstant(term.op))
        return graph_[*binding.classes[id]].data.call;
    const AxiomNode node = nodeOf(term, binding.cuts[id]);
    std::vector<std::size_t> operands;
    for (std::size_t i = 0; i < node.count; ++i)
        operands.push_back(written(rule, term.inputs[i], binding));
    return call(node, std::move(operands));
}

std::string AxiomGraph::functionOf(const AxiomNode& node) {
    if (node.op == TermOp::input)
        return "v" + std::to_string(node.cut + 1);
    std::string name(traits(node.op).name);
    if (node.op == TermOp::concat || node.op == TermOp::split)
        name += std::to_string(node.axis);
    if (node.op == TermOp::split)
        name += (node.part == 0 ? "a_at_" : "b_at_") + extentText(node.cut);
    if (node.op == TermOp::convIdentity)
        name += std::to_string(node.axis) + std::to_string(node.part);
    if (isConstant(node.op))
        for (const std::uint64_t extent : node.own)
            name += "_" + extentText(extent);
    return name;
}

// Small numbers are themselves, others letters.
std::string AxiomGraph::extentText(std::uint64_t extent) {
    constexpr std::uint64_t kSmall = 100;
    return extent < kSmall ? std::to_string(extent) : "e" + std::to_string(names_.try_emplace(extent, names_.size() + 1).first->second);
}

} // namespace tunesmith::substitution
