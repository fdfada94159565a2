// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <map>
#include <optional>

#include "core/base/rng.h"
#include "core/substitution/rule_extents.h"

namespace tunesmith::substitution {

// Shapes of all terms, or nothing where operands do not fit or the sides have different shapes.
inline std::optional<std::vector<TermShape>> legalShapes(const Rule& rule) {
    std::vector<TermShape> shapes;
    for (const Term& term : rule.nodes) {
        const auto operand = [&](std::size_t i) { return static_cast<int>(i) < traits(term.op).inputs ? shapes[term.inputs[i]] : TermShape(); };
        shapes.push_back(term.op == TermOp::input ? rule.variables[term.inputs[0]] : shapeOf(term, operand(0), operand(1)));
        if (shapes.back().rank == 0)
            return std::nullopt;
    }
    for (std::size_t i = 0; i < rule.left.size(); ++i)
        if (!shapes[rule.left[i]].sameExtents(shapes[rule.right[i]]))
            return std::nullopt;
    return shapes;
}

// Modulo primes Relu is another function, and what is equal in numbers need not be after rounding: one of the two says it.
inline bool holdsReally(const Rule& rule) {
    for (const std::uint64_t seed : {1, 2, 3})
        if (!holdsForReals(rule, seed) && !holds(rule, seed))
            return false;
    return true;
}

inline bool holdsFor(const ShapeCondition& condition, const Rule& rule, const std::vector<TermShape>& shapes) {
    using Kind = ShapeCondition::Kind;
    const auto& inputs = rule.nodes[condition.a].inputs;
    const TermShape &a = shapes[condition.a], &b = shapes[condition.b];
    switch (condition.kind) {
    case Kind::oneGroup: return shapes[inputs[0]].extents[1] == shapes[inputs[1]].extents[1];
    case Kind::pointwise: return a.extents[2] * a.extents[3] == 1;
    case Kind::sameExtent: return a.extents[condition.axis] == b.extents[condition.axis];
    default: return a.cuts[condition.axis] == b.cuts[condition.axis];
    }
}

// The rule with other shapes of its variables, if those of a random choice go together and the conditions hold. Extents that are always equal are
// chosen once.
inline std::optional<Rule> reshaped(const Rule& rule, const std::vector<ShapeCondition>& conditions, Rng& rng) {
    const auto generic = genericExtents(rule, conditions);
    if (!generic)
        return std::nullopt;
    constexpr std::uint16_t kPalette[] = {1, 2, 2, 3, 4, 6};
    std::map<std::uint64_t, std::uint16_t> chosen;
    Rule other = rule;
    for (TermId id = 0; id < rule.nodes.size(); ++id) {
        if (rule.nodes[id].op != TermOp::input)
            continue;
        TermShape& shape = other.variables[rule.nodes[id].inputs[0]];
        for (std::size_t axis = 0; axis < shape.rank; ++axis) {
            const std::uint64_t extent = generic->nodes[id][axis];
            const std::uint16_t drawn = extent < 100 ? static_cast<std::uint16_t>(extent) : kPalette[rng.below(std::size(kPalette))];
            shape.extents[axis] = chosen.try_emplace(extent, drawn).first->second;
            if (shape.cuts[axis] != 0 && shape.extents[axis] < 2)
                return std::nullopt;
            if (shape.cuts[axis] != 0)
                shape.cuts[axis] = static_cast<std::uint16_t>(1 + rng.below(shape.extents[axis] - 1U));
        }
    }
    const auto shapes = legalShapes(other);
    const auto fits = [&](const ShapeCondition& condition) { return holdsFor(condition, other, *shapes); };
    return shapes && std::ranges::all_of(conditions, fits) ? std::optional(other) : std::nullopt;
}

} // namespace tunesmith::substitution
