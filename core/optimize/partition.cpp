// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/optimize/partition.h"

#include <algorithm>

#include "core/rewrite/model_draft.h"

namespace tunesmith::optimize {
namespace {

// Of each place in a list of nodes, how many values are made before it and read at it or later.
std::vector<std::size_t> valuesAcross(const Draft& draft, const std::vector<NodeNo>& nodes) {
    std::vector<std::size_t> place(draft.nodes(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i)
        place[nodes[i]] = i;
    std::vector<std::ptrdiff_t> change(nodes.size() + 1, 0);
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (std::size_t k = 0; k < draft.node(nodes[i]).outputs; ++k) {
            std::size_t last = i;
            for (const NodeNo reader : draft.consumers(draft.output(nodes[i], k)))
                last = std::max(last, place[reader]);
            ++change[std::min(i + 1, nodes.size())];
            --change[std::min(last + 1, nodes.size())];
        }
    std::vector<std::size_t> across;
    std::ptrdiff_t alive = 0;
    for (const std::ptrdiff_t each : change)
        across.push_back(static_cast<std::size_t>(alive += each));
    return across;
}

class Cutter {
public:
    Cutter(const Draft& whole, std::vector<NodeNo> nodes) : whole_(whole), nodes_(std::move(nodes)), piece_{Draft(whole.sharedTable()), {}}, numbers_(whole.values(), rewrite::kNone) {}

    Piece run() {
        std::vector<bool> inside(whole_.nodes(), false);
        for (const NodeNo node : nodes_)
            inside[node] = true;
        for (const NodeNo node : nodes_)
            add(node);
        std::vector<ValueNo> outputs;
        for (const NodeNo node : nodes_)
            for (std::size_t i = 0; i < whole_.node(node).outputs; ++i) {
                const ValueNo value = whole_.output(node, i);
                const auto readers = whole_.consumers(value);
                if (whole_.isOutput(value) || std::ranges::any_of(readers, [&](NodeNo reader) { return !inside[reader]; }))
                    outputs.push_back(numbers_[value]);
            }
        piece_.draft.setOutputs(std::move(outputs));
        piece_.draft.settle();
        return std::move(piece_);
    }

private:
    ValueNo number(ValueNo value) {
        if (value == rewrite::kNone || numbers_[value] != rewrite::kNone)
            return value == rewrite::kNone ? value : numbers_[value];
        if (const Tensor* const constant = whole_.constant(value))
            note(value, piece_.draft.constant(*constant));
        else if (whole_.isWeight(value))
            add(whole_.value(value).maker);
        else
            note(value, piece_.draft.addInput(whole_.value(value).type, whole_.value(value).label));
        return numbers_[value];
    }

    void note(ValueNo value, ValueNo own) {
        numbers_[value] = own;
        piece_.draft.relabel(own, whole_.value(value).label);
        if (piece_.wholeValues.size() <= own)
            piece_.wholeValues.resize(own + 1, rewrite::kNone);
        piece_.wholeValues[own] = value;
    }

    // As it stands: what is opaque, and what was the same node twice, stays so.
    void add(NodeNo node) {
        std::vector<ValueNo> operands;
        std::vector<rewrite::TypeNo> types;
        for (const ValueNo operand : whole_.operands(node))
            operands.push_back(number(operand));
        for (std::size_t i = 0; i < whole_.node(node).outputs; ++i)
            types.push_back(whole_.value(whole_.output(node, i)).type);
        const NodeNo made = piece_.draft.addAsItIs(whole_.node(node).op, operands, types, whole_.isWeight(whole_.output(node)));
        for (std::size_t i = 0; i < types.size(); ++i)
            note(whole_.output(node, i), piece_.draft.output(made, i));
    }

    const Draft& whole_;
    const std::vector<NodeNo> nodes_;
    Piece piece_;
    std::vector<ValueNo> numbers_; // of the piece, by value of the whole
};

} // namespace

std::vector<std::vector<NodeNo>> piecesOf(const Draft& draft, std::size_t size, std::size_t offset) {
    std::vector<NodeNo> nodes;
    for (const NodeNo node : draft.order())
        if (!draft.isWeight(draft.output(node)))
            nodes.push_back(node);
    const std::vector<std::size_t> across = valuesAcross(draft, nodes);
    std::vector<std::vector<NodeNo>> pieces;
    for (std::size_t begin = 0; begin < nodes.size();) {
        const std::size_t wanted = pieces.empty() && offset > 0 ? size - offset : size;
        std::size_t end = std::min(begin + wanted, nodes.size());
        if (end < nodes.size()) {
            const auto from = across.begin() + static_cast<std::ptrdiff_t>(begin + wanted * 3 / 4), to = across.begin() + static_cast<std::ptrdiff_t>(std::min(begin + wanted * 5 / 4, nodes.size()));
            end = static_cast<std::size_t>(std::min_element(from, to) - across.begin());
        }
        pieces.emplace_back(nodes.begin() + static_cast<std::ptrdiff_t>(begin), nodes.begin() + static_cast<std::ptrdiff_t>(std::max(end, begin + 1)));
        begin = std::max(end, begin + 1);
    }
    return pieces;
}

namespace {

// Splits whose parts a piece reads belong to it: rules look for what else is a part.
std::vector<NodeNo> withSplits(const Draft& whole, const std::vector<NodeNo>& nodes) {
    std::vector<NodeNo> all;
    for (const NodeNo node : nodes)
        for (const ValueNo operand : whole.operands(node))
            if (const NodeNo split = whole.maker(operand, "Split"); split != rewrite::kNone && std::ranges::find(nodes, split) == nodes.end() && std::ranges::find(all, split) == all.end())
                all.push_back(split);
    all.insert(all.end(), nodes.begin(), nodes.end());
    return all;
}

} // namespace

Piece cutOut(const Draft& whole, const std::vector<NodeNo>& nodes) { return Cutter(whole, withSplits(whole, nodes)).run(); }

namespace {

// A node of one draft in another on operands of that, its first output there; kNone where the shapes do not fit. What is opaque is never what
// is there already.
ValueNo addedNode(Draft& draft, const Draft& from, NodeNo node, std::vector<ValueNo> operands) {
    const std::size_t outputs = from.node(node).outputs;
    if (!rewrite::isOpaque(from, node))
        return draft.add(from.node(node).op, operands, outputs);
    std::ranges::replace(operands, Draft::kLeftOut, rewrite::kNone);
    std::vector<rewrite::TypeNo> types;
    for (std::size_t i = 0; i < outputs; ++i)
        types.push_back(from.value(from.output(node, i)).type);
    return draft.output(draft.addOpaque(from.node(node).op, operands, types));
}

} // namespace

std::optional<Draft> spliced(const Draft& whole, const Piece& piece, const Draft& rewritten) {
    Draft draft = whole;
    std::vector<ValueNo> numbers = piece.wholeValues; // of the whole, by value of the rewritten piece
    numbers.resize(rewritten.values(), rewrite::kNone);
    const auto number = [&](ValueNo value) {
        if (value != rewrite::kNone && numbers[value] == rewrite::kNone && rewritten.constant(value))
            numbers[value] = draft.constant(*rewritten.constant(value));
        return value == rewrite::kNone ? Draft::kLeftOut : numbers[value];
    };
    for (const NodeNo node : rewritten.order()) {
        const auto stays = [&](ValueNo operand) { return operand == rewrite::kNone || (operand < piece.wholeValues.size() && numbers[operand] == piece.wholeValues[operand]); };
        if (node < piece.draft.nodes() && std::ranges::equal(rewritten.operands(node), piece.draft.operands(node)) && std::ranges::all_of(rewritten.operands(node), stays))
            continue;
        std::vector<ValueNo> operands;
        for (const ValueNo operand : rewritten.operands(node))
            operands.push_back(number(operand));
        const ValueNo first = addedNode(draft, rewritten, node, std::move(operands));
        if (first == rewrite::kNone)
            return std::nullopt;
        for (std::size_t i = 0; i < rewritten.node(node).outputs; ++i)
            numbers[rewritten.output(node, i)] = first + static_cast<ValueNo>(i);
    }
    for (std::size_t i = 0; i < rewritten.outputs().size(); ++i) {
        const ValueNo old = piece.wholeValues[piece.draft.outputs()[i]], made = number(rewritten.outputs()[i]);
        draft.replace(old, made);
    }
    return draft.settle() ? std::optional(std::move(draft)) : std::nullopt;
}

} // namespace tunesmith::optimize
