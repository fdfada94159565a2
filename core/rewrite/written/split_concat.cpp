// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/rewrite/write_nodes.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/merging.h"

namespace tunesmith::rewrite {
namespace {

std::int64_t drawn(Rng& rng, std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(high - low + 1))); }

Shape drawnShape(Rng& rng, std::int64_t lowRank) {
    Shape shape;
    for (std::int64_t i = 0, rank = drawn(rng, lowRank, 4); i < rank; ++i)
        shape.push_back(rng.chance(0.02) ? 0 : drawn(rng, 1, 4));
    return shape;
}

std::optional<Draft> settled(Draft draft, std::vector<ValueNo> outputs) {
    if (std::ranges::find(outputs, kNone) != outputs.end())
        return std::nullopt;
    draft.setOutputs(std::move(outputs));
    return draft.settle() ? std::optional(std::move(draft)) : std::nullopt;
}

// A run of a concat's operands that are all parts of one split is what was split.
class ConcatOfSplit : public Substitution {
public:
    ConcatOfSplit() : Substitution({"concat-of-split", "concat(..., split(x), ...) = concat(..., x, ...)", {"all parts in order, along the same axis"}, true}) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (isPlain(draft, anchor, "Concat") && runOf(draft, anchor))
            found.push_back({anchor, {draft.output(anchor)}});
    }

    std::string_view apply(Draft& draft, const Match& match) const override {
        const NodeNo concat = madeBy(draft, match.values[0], "Concat");
        const auto run = concat == kNone ? std::nullopt : runOf(draft, concat);
        if (!run)
            return "the concat has changed";
        const auto operands = draft.operands(concat);
        const NodeNo split = draft.value(operands[*run]).maker;
        std::vector<ValueNo> left(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(*run));
        left.push_back(draft.operand(split, 0));
        left.insert(left.end(), operands.begin() + static_cast<std::ptrdiff_t>(*run + draft.node(split).outputs), operands.end());
        const ValueNo made = addConcat(draft, left, static_cast<std::int64_t>(axisOf(draft, concat)));
        return replaceAll(draft, match.values, made);
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        Draft draft(table);
        Shape shape = drawnShape(rng, 1);
        const std::size_t axis = rng.below(shape.size());
        const std::vector<std::int64_t> extents{drawn(rng, 1, 3), drawn(rng, 1, 3)};
        shape[axis] = extents[0] + extents[1];
        const ValueNo parts = addSplit(draft, draft.addInput(table->add(TensorType(DType::f32, shape)), 1), static_cast<std::int64_t>(axis), extents);
        std::vector<ValueNo> operands{parts, parts + 1};
        if (rng.chance(0.2))
            std::swap(operands[0], operands[1]);
        if (rng.chance(0.5))
            operands.insert(operands.begin() + drawn(rng, 0, 2), draft.addInput(table->add(TensorType(DType::f32, shape)), 2));
        return settled(draft, {addConcat(draft, operands, static_cast<std::int64_t>(axis))});
    }

private:
    static std::optional<std::size_t> runOf(const Draft& draft, NodeNo concat) {
        const auto operands = draft.operands(concat);
        for (std::size_t first = 0; first < operands.size(); ++first) {
            const NodeNo split = madeBy(draft, operands[first], "Split");
            if (split == kNone || axisOf(draft, split) != axisOf(draft, concat) || first + draft.node(split).outputs > operands.size())
                continue;
            if (splitOf(draft, operands.subspan(first, draft.node(split).outputs)) == split)
                return first;
        }
        return std::nullopt;
    }
};

// A split that cuts where a concat has put together: the pieces themselves, or concats of fewer of them.
class SplitOfConcat : public Substitution {
public:
    SplitOfConcat() : Substitution({"split-of-concat", "split(concat(a, b, ...)) = a; b; ...", {"the split cuts between the concat's operands"}, true}) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (isPlain(draft, anchor, "Split") && !piecesOf(draft, anchor).empty())
            found.push_back({anchor, {draft.output(anchor)}});
    }

    std::string_view apply(Draft& draft, const Match& match) const override {
        const NodeNo split = madeBy(draft, match.values[0], "Split");
        const auto pieces = split == kNone ? std::vector<std::vector<ValueNo>>() : piecesOf(draft, split);
        if (pieces.empty())
            return "the split has changed";
        const auto axis = static_cast<std::int64_t>(axisOf(draft, split));
        for (std::size_t i = 0; i < pieces.size(); ++i)
            draft.replace(draft.output(split, i), addConcat(draft, pieces[i], axis));
        return {};
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        Draft draft(table);
        Shape shape = drawnShape(rng, 1);
        const std::size_t axis = rng.below(shape.size());
        std::vector<ValueNo> operands;
        std::vector<std::int64_t> extents;
        for (std::int64_t i = 0, count = drawn(rng, 2, 4); i < count; ++i) {
            shape[axis] = drawn(rng, 1, 3);
            operands.push_back(draft.addInput(table->add(TensorType(DType::f32, shape)), static_cast<std::uint64_t>(i)));
            if (!extents.empty() && rng.chance(0.3))
                extents.back() += shape[axis];
            else
                extents.push_back(shape[axis]);
        }
        const ValueNo parts = addSplit(draft, addConcat(draft, operands, static_cast<std::int64_t>(axis)), static_cast<std::int64_t>(axis), extents);
        std::vector<ValueNo> outputs;
        for (std::size_t i = 0; i < extents.size() && parts != kNone; ++i)
            outputs.push_back(addRelu(draft, parts + static_cast<ValueNo>(i)));
        return settled(draft, outputs);
    }

private:
    static std::vector<std::vector<ValueNo>> piecesOf(const Draft& draft, NodeNo split) {
        const NodeNo concat = madeBy(draft, draft.operand(split, 0), "Concat");
        if (concat == kNone || axisOf(draft, concat) != axisOf(draft, split))
            return {};
        const std::size_t axis = axisOf(draft, split);
        std::vector<std::vector<ValueNo>> pieces;
        auto next = draft.operands(concat).begin();
        for (std::int64_t left : extentsOf(draft, split)) {
            pieces.emplace_back();
            for (; left > 0 && next != draft.operands(concat).end(); ++next) {
                pieces.back().push_back(*next);
                left -= draft.shape(*next)[axis];
            }
            if (left != 0 || pieces.back().empty())
                return {};
        }
        return pieces;
    }
};

// A concat that only another one along the same axis reads is part of that.
class NestedConcat : public Substitution {
public:
    NestedConcat() : Substitution({"flatten-concat", "concat(concat(a, b), c) = concat(a, b, c)", {"nothing else reads the inner concat"}, true}) {}

    void find(const Draft& draft, NodeNo anchor, std::vector<Match>& found) const override {
        if (!isPlain(draft, anchor, "Concat"))
            return;
        for (const ValueNo operand : draft.operands(anchor))
            if (isInner(draft, operand, anchor)) {
                found.push_back({anchor, {draft.output(anchor)}});
                return;
            }
    }

    std::string_view apply(Draft& draft, const Match& match) const override {
        const NodeNo concat = madeBy(draft, match.values[0], "Concat");
        if (concat == kNone)
            return "the concat has changed";
        std::vector<ValueNo> flat;
        for (const ValueNo operand : draft.operands(concat)) {
            const auto inner = isInner(draft, operand, concat) ? draft.operands(draft.value(operand).maker) : std::span(&operand, 1);
            flat.insert(flat.end(), inner.begin(), inner.end());
        }
        return replaceAll(draft, match.values, addConcat(draft, flat, static_cast<std::int64_t>(axisOf(draft, concat))));
    }

    std::optional<Draft> sample(const std::shared_ptr<OperatorTable>& table, Rng& rng) const override {
        Draft draft(table);
        const Shape shape = drawnShape(rng, 1);
        const auto axis = static_cast<std::int64_t>(rng.below(shape.size()));
        std::vector<ValueNo> values;
        for (std::uint64_t i = 0; i < 3; ++i)
            values.push_back(draft.addInput(table->add(TensorType(DType::f32, shape)), i));
        const ValueNo inner = addConcat(draft, {values[0], values[1]}, axis);
        return settled(draft, {addConcat(draft, rng.chance(0.5) ? std::vector{inner, values[2]} : std::vector{values[2], inner}, axis)});
    }

private:
    static bool isInner(const Draft& draft, ValueNo value, NodeNo outer) {
        const NodeNo inner = madeBy(draft, value, "Concat");
        return inner != kNone && axisOf(draft, inner) == axisOf(draft, outer) && onlyReader(draft, value) == outer;
    }
};

} // namespace

void addSplitConcat(std::vector<SubstitutionPtr>& all) {
    all.push_back(std::make_shared<ConcatOfSplit>());
    all.push_back(std::make_shared<SplitOfConcat>());
    all.push_back(std::make_shared<NestedConcat>());
}

} // namespace tunesmith::rewrite
