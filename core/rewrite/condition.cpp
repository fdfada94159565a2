// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/condition.h"

#include <algorithm>
#include <map>

namespace tunesmith::rewrite {
namespace {

using Kind = Condition::Kind;

bool isConv(const Term& term) { return term.op == TermOp::conv || term.op == TermOp::convRelu; }

std::vector<TermId> termsOf(const Pattern& pattern, auto&& wanted) {
    std::vector<TermId> found;
    for (TermId id = 0; id < pattern.rule.nodes.size(); ++id)
        if (pattern.inFrom[id] && wanted(pattern.rule.nodes[id]))
            found.push_back(id);
    return found;
}

std::int64_t groupsOf(const Pattern& pattern, const Draft& draft, const Binding& binding, TermId id) {
    NodeNo node = draft.value(binding.values[id]).maker;
    if (pattern.rule.nodes[id].op == TermOp::convRelu)
        node = draft.value(draft.operand(node, 0)).maker;
    return draft.op(node).intAttr("group", 1);
}

struct PoolAttributes {
    std::vector<std::int64_t> kernel, strides, pads;
    bool counts;
};

bool poolHolds(Kind kind, const Draft& draft, OperatorNo op) {
    if (op == kNone)
        return true;
    const Node& node = draft.table()[op];
    const PoolAttributes pool{node.intsAttr("kernel_shape"), node.intsAttr("strides"), node.intsAttr("pads"), node.intAttr("count_include_pad", 0) != 0};
    const bool padded = std::ranges::any_of(pool.pads, [](std::int64_t pad) { return pad != 0; });
    if (kind == Kind::poolCountsPads)
        return pool.counts || !padded || node.op == "MaxPool";
    if (kind == Kind::poolWithoutPads)
        return !padded;
    for (std::size_t d = 0; d < pool.kernel.size(); ++d)
        if (pool.strides[d] != 1 || pool.pads[d] + pool.pads[d + pool.kernel.size()] != pool.kernel[d] - 1)
            return false;
    return true;
}

bool windowHolds(Kind kind, const Binding& binding) {
    if (!binding.window)
        return true;
    if (kind == Kind::unitStride)
        return binding.window->strides == std::array<std::int64_t, 2>{1, 1};
    return binding.window->begin == std::array<std::int64_t, 2>{} && binding.window->end == std::array<std::int64_t, 2>{};
}

bool sameAlong(const Condition& condition, const Pattern& pattern, const Draft& draft, const Binding& binding) {
    const Shape &a = draft.shape(binding.values[condition.a]), &b = draft.shape(binding.values[condition.b]);
    const auto i = axisOf(pattern, binding, condition.axis, a.size()), j = axisOf(pattern, binding, condition.axis, b.size());
    return i && j && a[*i] == b[*j];
}

} // namespace

std::vector<Condition> conditionsOf(const Pattern& pattern) {
    std::vector<Condition> all;
    const auto convs = termsOf(pattern, isConv), variables = termsOf(pattern, [](const Term& term) { return term.op == TermOp::input; });
    const auto pairs = [&](const std::vector<TermId>& terms, auto&& visit) {
        for (std::size_t i = 0; i < terms.size(); ++i)
            for (std::size_t j = i + 1; j < terms.size(); ++j)
                visit(terms[i], terms[j]);
    };
    pairs(convs, [&](TermId a, TermId b) { all.push_back({Kind::sameGroups, a, b}); });
    for (const TermId conv : convs)
        all.push_back({Kind::oneGroup, conv});
    pairs(variables, [&](TermId a, TermId b) {
        for (std::uint8_t axis = 0; axis < 2 && pattern.rank[a] > 1 && pattern.rank[b] > 1; ++axis)
            all.push_back({Kind::sameExtent, a, b, axis});
    });
    pairs(variables, [&](TermId a, TermId b) { all.push_back({Kind::sameShape, a, b}); });
    for (const TermId id : termsOf(pattern, [](const Term& term) { return term.op == TermOp::add || term.op == TermOp::mul; }))
        if (const auto [a, b] = pattern.rule.nodes[id].inputs; std::ranges::find(all, Condition{Kind::sameShape, a, b}) == all.end())
            all.push_back({Kind::sameShape, a, b});
    for (const TermId conv : convs)
        if (const TermId w = pattern.rule.nodes[conv].inputs[1]; std::ranges::find(all, Condition{Kind::pointwise, w}) == all.end())
            all.insert(all.end(), {{Kind::oddKernel, w}, {Kind::pointwise, w}});
    if (!convs.empty())
        all.insert(all.end(), {{Kind::unitStride}, {Kind::keepsSize}});
    if (!termsOf(pattern, [](const Term& term) { return term.op == TermOp::averagePool || term.op == TermOp::maxPool; }).empty())
        all.insert(all.end(), {{Kind::poolCountsPads}, {Kind::poolKeepsSize}, {Kind::poolWithoutPads}});
    for (const TermId id : variables)
        if (pattern.kind == Pattern::Kind::matrix && pattern.rank[id] == 2)
            all.push_back({Kind::plainMatrix, id});
    return all;
}

bool holds(const Condition& condition, const Pattern& pattern, const Draft& draft, const Binding& binding) {
    const auto shape = [&](TermId id) -> const Shape& { return draft.shape(binding.values[id]); };
    switch (condition.kind) {
    case Kind::oneGroup: return groupsOf(pattern, draft, binding, condition.a) == 1;
    case Kind::sameGroups: return groupsOf(pattern, draft, binding, condition.a) == groupsOf(pattern, draft, binding, condition.b);
    case Kind::sameShape: return shape(condition.a) == shape(condition.b);
    case Kind::sameExtent: return sameAlong(condition, pattern, draft, binding);
    case Kind::plainMatrix: return shape(condition.a).size() == 2;
    case Kind::pointwise: return shape(condition.a).size() == 4 && shape(condition.a)[2] == 1 && shape(condition.a)[3] == 1;
    case Kind::oddKernel: return shape(condition.a).size() == 4 && shape(condition.a)[2] % 2 == 1 && shape(condition.a)[3] % 2 == 1;
    case Kind::unitStride:
    case Kind::keepsSize: return windowHolds(condition.kind, binding);
    default: return poolHolds(condition.kind, draft, binding.averagePool) && poolHolds(condition.kind, draft, binding.maxPool);
    }
}

std::string toText(const Condition& condition, const Pattern& pattern) {
    const auto name = [&](TermId id) { return substitution::termText(pattern.rule, id); };
    switch (condition.kind) {
    case Kind::oneGroup: return name(condition.a) + " has one group";
    case Kind::sameGroups: return name(condition.a) + " and " + name(condition.b) + " have as many groups";
    case Kind::sameShape: return name(condition.a) + " and " + name(condition.b) + " have the same shape";
    case Kind::sameExtent: return name(condition.a) + " and " + name(condition.b) + " have the same extent along axis " + std::to_string(condition.axis);
    case Kind::plainMatrix: return name(condition.a) + " has no batch dimensions";
    case Kind::pointwise: return name(condition.a) + " is 1x1";
    case Kind::oddKernel: return name(condition.a) + " has odd extents";
    case Kind::unitStride: return "convolutions have stride 1";
    case Kind::keepsSize: return "convolutions have pads of half a kernel";
    case Kind::poolKeepsSize: return "pools keep the size";
    case Kind::poolCountsPads: return "pools count their pads";
    default: return "pools have no pads";
    }
}

std::optional<Condition> parseCondition(std::string_view text, const Pattern& pattern) {
    for (const Condition& condition : conditionsOf(pattern))
        if (toText(condition, pattern) == text)
            return condition;
    return std::nullopt;
}

} // namespace tunesmith::rewrite
