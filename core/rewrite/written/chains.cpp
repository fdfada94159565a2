// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Movements that follow each other, and those that move nothing in memory.
namespace tunesmith::rewrite {
namespace {

WrittenRule reshapes() {
    return {{"one-reshape", "reshape(reshape(x)) = reshape(x), and the same of flatten, squeeze and unsqueeze", {}, true},
            [](const Draft& draft, NodeNo node) {
                const NodeNo before = isReshape(draft, node) ? plainMaker(draft, draft.operand(node, 0)) : kNone;
                return before != kNone && isReshape(draft, before) ? std::vector{draft.output(node)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const Shape shape = draft.shape(match.values[0]);
                return std::vector{addReshape(draft, draft.operand(plainMaker(draft, draft.operand(match.anchor, 0)), 0), shape)};
            },
            [](SampleModel& model) {
                const ValueNo x = model.input(model.shape(static_cast<std::size_t>(model.between(1, 4))));
                return model.reshaped(model.reshaped(x));
            }};
}

WrittenRule transposes() {
    return {{"one-transpose", "transpose(transpose(x)) = transpose(x) or x", {}, true},
            [](const Draft& draft, NodeNo node) {
                const bool fits = draft.is(node, "Transpose") && madeBy(draft, draft.operand(node, 0), "Transpose") != kNone;
                return fits ? std::vector{draft.output(node)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const NodeNo before = madeBy(draft, draft.operand(match.anchor, 0), "Transpose");
                const auto first = permOf(draft, before);
                std::vector<std::int64_t> both;
                for (const std::int64_t axis : permOf(draft, match.anchor))
                    both.push_back(first[static_cast<std::size_t>(axis)]);
                return std::vector{addTranspose(draft, draft.operand(before, 0), both)};
            },
            [](SampleModel& model) {
                const ValueNo x = model.input(model.shape(static_cast<std::size_t>(model.between(1, 4))));
                return model.transposed(model.transposed(x));
            }};
}

// The axes that are not 1 stay in order.
bool movesOnesOnly(const Draft& draft, NodeNo transpose) {
    const Shape& from = draft.shape(draft.operand(transpose, 0));
    std::vector<std::int64_t> moved;
    for (const std::int64_t axis : permOf(draft, transpose))
        if (from[static_cast<std::size_t>(axis)] != 1)
            moved.push_back(axis);
    return std::ranges::is_sorted(moved) && elementCount(from) > 0;
}

WrittenRule transposeOfOnes() {
    return {{"transpose-as-reshape", "transpose(x) = reshape(x)", {"only extents of 1 change places"}, true},
            [](const Draft& draft, NodeNo node) {
                const bool fits = draft.is(node, "Transpose") && !std::ranges::is_sorted(permOf(draft, node)) && movesOnesOnly(draft, node);
                return fits ? std::vector{draft.output(node)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const Shape shape = draft.shape(match.values[0]);
                return std::vector{addReshape(draft, draft.operand(match.anchor, 0), shape)};
            },
            [](SampleModel& model) { return model.transposed(model.input(model.shape(static_cast<std::size_t>(model.between(2, 4)), 2))); }};
}

// Limits that are known and do not let anything below zero through.
bool clipsAtZero(const Draft& draft, NodeNo clip) {
    if (draft.table().opset() < 11)
        return draft.op(clip).has("min") && draft.op(clip).floatAttr("min", -1) >= 0;
    const auto low = numberOf(draft, draft.operand(clip, 1));
    return low && *low >= 0;
}

WrittenRule reluBeforeClip() {
    return {{"relu-before-clip", "clip(relu(x)) = clip(x)", {"the lower limit is a constant and not below zero"}, true},
            [](const Draft& draft, NodeNo node) {
                const bool fits = draft.is(node, "Clip") && madeBy(draft, draft.operand(node, 0), "Relu") != kNone && clipsAtZero(draft, node);
                return fits ? std::vector{draft.output(node)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                return std::vector{withOperand(draft, match.anchor, 0, draft.operand(madeBy(draft, draft.operand(match.anchor, 0), "Relu"), 0))};
            },
            [](SampleModel& model) {
                const ValueNo x = model.draft().add("Relu", {model.input(model.shape(3))});
                const double low = model.pick({0.0, 0.0, 1.0, -1.0});
                if (model.opset() < 11)
                    return model.draft().add("Clip", {x}, {{"min", static_cast<float>(low)}, {"max", 2.5F}});
                return model.draft().add("Clip", {x, model.chance(0.1) ? model.input({}) : model.number(low), model.chance(0.5) ? model.number(2.5) : Draft::kLeftOut});
            }};
}

} // namespace

void addChainSubstitutions(std::vector<SubstitutionPtr>& all) {
    for (const auto& rule : {reshapes(), transposes(), transposeOfOnes(), reluBeforeClip()})
        all.push_back(written(rule));
}

} // namespace tunesmith::rewrite
