// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/pattern.h"

#include <algorithm>

namespace tunesmith::rewrite {
namespace {

Pattern::Kind kindOf(const Rule& rule) {
    for (const Term& term : rule.nodes)
        switch (term.op) {
        case TermOp::matmul:
        case TermOp::transpose:
        case TermOp::productIdentity: return Pattern::Kind::matrix;
        case TermOp::conv:
        case TermOp::convRelu:
        case TermOp::averagePool:
        case TermOp::maxPool:
        case TermOp::enlarge:
        case TermOp::poolWeights:
        case TermOp::convIdentity: return Pattern::Kind::image;
        default: break;
        }
    return Pattern::Kind::free;
}

void mark(const Rule& rule, TermId id, std::vector<bool>& seen) {
    if (seen[id])
        return;
    seen[id] = true;
    for (int i = 0; rule.nodes[id].op != TermOp::input && i < substitution::traits(rule.nodes[id].op).inputs; ++i)
        mark(rule, rule.nodes[id].inputs[static_cast<std::size_t>(i)], seen);
}

std::vector<std::uint8_t> ranksOf(const Rule& rule) {
    std::vector<substitution::TermShape> shapes;
    for (const Term& term : rule.nodes) {
        const auto operand = [&](std::size_t i) { return term.inputs[i] < shapes.size() ? shapes[term.inputs[i]] : substitution::TermShape(); };
        shapes.push_back(term.op == TermOp::input ? rule.variables[term.inputs[0]] : shapeOf(term, operand(0), operand(1)));
    }
    std::vector<std::uint8_t> ranks;
    std::ranges::transform(shapes, std::back_inserter(ranks), &substitution::TermShape::rank);
    return ranks;
}

} // namespace

Pattern::Pattern(Rule itsRule, bool fromRight)
    : rule(std::move(itsRule)), from(fromRight ? rule.right : rule.left), to(fromRight ? rule.left : rule.right), kind(kindOf(rule)), inFrom(rule.nodes.size()),
      rank(ranksOf(rule)) {
    for (const TermId id : from)
        mark(rule, id, inFrom);
}

std::optional<ConvWindow> windowOf(const Draft& draft, NodeNo conv) {
    const Node& op = draft.op(conv);
    const Shape& w = draft.shape(draft.operand(conv, 1));
    const auto strides = op.intsAttr("strides"), dilations = op.intsAttr("dilations"), pads = op.intsAttr("pads");
    if (w.size() != 4 || strides.size() != 2 || dilations.size() != 2 || pads.size() != 4)
        return std::nullopt;
    ConvWindow window;
    for (std::size_t d = 0; d < 2; ++d) {
        const std::int64_t reach = (w[d + 2] - 1) * dilations[d];
        window.strides[d] = strides[d];
        window.dilations[d] = dilations[d];
        window.begin[d] = pads[d] - reach / 2;
        window.end[d] = pads[d + 2] - (reach - reach / 2);
    }
    return window;
}

OperatorNo convOperator(OperatorTable& table, const ConvWindow& window, const Shape& weights, std::int64_t group) {
    std::vector<std::int64_t> pads(4);
    for (std::size_t d = 0; d < 2; ++d) {
        const std::int64_t reach = (weights[d + 2] - 1) * window.dilations[d];
        pads[d] = window.begin[d] + reach / 2;
        pads[d + 2] = window.end[d] + (reach - reach / 2);
    }
    if (std::ranges::any_of(pads, [](std::int64_t pad) { return pad < 0; }))
        return kNone;
    return table.add("Conv", {{"strides", std::vector(window.strides.begin(), window.strides.end())},
                              {"dilations", std::vector(window.dilations.begin(), window.dilations.end())},
                              {"pads", pads},
                              {"group", group}});
}

std::optional<std::size_t> axisOf(const Pattern& pattern, const Binding& binding, std::uint8_t axis, std::size_t rank) {
    if (pattern.kind == Pattern::Kind::image)
        return axis < rank ? std::optional<std::size_t>(axis) : std::nullopt;
    const int fromBack = pattern.kind == Pattern::Kind::matrix ? int(axis) - 2 : binding.axes[axis].value_or(-100);
    const int fromFront = static_cast<int>(rank) + fromBack;
    return fromFront >= 0 ? std::optional(static_cast<std::size_t>(fromFront)) : std::nullopt;
}

} // namespace tunesmith::rewrite
