// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/cuts.h"

namespace tunesmith::rewrite {
namespace {

// From where in its operands a term has the places along an axis: one of them, or both alike.
struct Source {
    enum : std::uint8_t { nowhere, first, second, both } from = nowhere;
    std::uint8_t axis = 0;
};

Source sourceOf(const Term& term, std::uint8_t axis) {
    const auto other = static_cast<std::uint8_t>(1 - axis);
    switch (term.op) {
    case TermOp::add:
    case TermOp::mul: return {Source::both, axis};
    case TermOp::scale:
    case TermOp::relu: return {Source::first, axis};
    case TermOp::averagePool:
    case TermOp::maxPool:
    case TermOp::enlarge: return {axis < 2 ? Source::first : Source::nowhere, axis};
    case TermOp::matmul: return axis == 0 ? Source{Source::first, 0} : Source{Source::second, 1};
    case TermOp::conv:
    case TermOp::convRelu: return axis == 0 ? Source{Source::first, 0} : axis == 1 ? Source{Source::second, 0} : Source{};
    case TermOp::transpose: return {Source::first, other};
    case TermOp::split: return axis == term.axis ? Source{} : Source{Source::first, axis};
    case TermOp::concat: return axis == term.axis ? Source{} : Source{Source::both, axis};
    default: return {};
    }
}

} // namespace

Cuts::Cuts(const Pattern& pattern, const Draft& draft, const Binding& binding) : pattern_(pattern), draft_(draft), binding_(binding) {
    for (TermId id = 0; id < pattern.rule.nodes.size() && consistent_; ++id) {
        const Term& term = pattern.rule.nodes[id];
        if (!pattern.inFrom[id] || term.op != TermOp::split)
            continue;
        const NodeNo split = draft.value(binding.values[id]).maker;
        const auto first = extent(draft.output(split, 0), term.axis);
        consistent_ = first && put(term.inputs[0], term.axis, *first);
    }
}

std::optional<std::int64_t> Cuts::extent(ValueNo value, std::uint8_t axis) const {
    const Shape& shape = draft_.shape(value);
    const auto at = axisOf(pattern_, binding_, axis, shape.size());
    return at ? std::optional(shape[*at]) : std::nullopt;
}

bool Cuts::put(TermId id, std::uint8_t axis, std::int64_t cut) {
    const Term& term = pattern_.rule.nodes[id];
    if (term.op == TermOp::input)
        return ofVariable_.try_emplace({id, axis}, cut).first->second == cut;
    if (term.op == TermOp::concat && term.axis == axis)
        return extent(binding_.values[term.inputs[0]], axis) == cut;
    const Source source = sourceOf(term, axis);
    return source.from != Source::nowhere && (source.from == Source::second || put(term.inputs[0], source.axis, cut)) &&
           (source.from == Source::first || put(term.inputs[1], source.axis, cut));
}

std::optional<std::int64_t> Cuts::of(TermId id, std::uint8_t axis, const std::vector<ValueNo>& values) const {
    const Term& term = pattern_.rule.nodes[id];
    if (term.op == TermOp::input) {
        const auto known = ofVariable_.find({id, axis});
        return known == ofVariable_.end() ? std::nullopt : std::optional(known->second);
    }
    if (term.op == TermOp::concat && term.axis == axis)
        return values[term.inputs[0]] == kNone ? std::nullopt : extent(values[term.inputs[0]], axis);
    const Source source = sourceOf(term, axis);
    const auto a = source.from == Source::first || source.from == Source::both ? of(term.inputs[0], source.axis, values) : std::nullopt;
    const auto b = source.from == Source::second || source.from == Source::both ? of(term.inputs[1], source.axis, values) : std::nullopt;
    return !a || !b || a == b ? (a ? a : b) : std::nullopt;
}

} // namespace tunesmith::rewrite
