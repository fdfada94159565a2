// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Two groups of a convolution as one, which multiplies with zeros where they do not meet.
namespace tunesmith::rewrite {
namespace {

// Weights [G/2, 2, M/G, C/G, ...]: of each pair the first reads the first half of the channels, the second the other half.
ValueNo blocks(Draft& draft, ValueNo weights, std::int64_t groups) {
    const Shape shape = draft.shape(weights);
    Shape paired{groups / 2, 2, shape[0] / groups}, merged = shape;
    paired.insert(paired.end(), shape.begin() + 1, shape.end());
    merged[1] *= 2;
    const ValueNo parts = addSplit(draft, addReshape(draft, weights, paired), 1, {1, 1});
    if (parts == kNone)
        return kNone;
    std::vector<std::int64_t> none(paired.size()), half(paired.size());
    half[3] = shape[1];
    const ValueNo first = addZeros(draft, parts, none, half), second = addZeros(draft, parts + 1, half, none);
    return addReshape(draft, addConcat(draft, {first, second}, 1), merged);
}

WrittenRule mergeGroups() {
    return {{"merge-groups", "conv of G groups = conv of G / 2 groups, with zeros in the weights", {"G is even", "the weights are constants"}, false},
            [](const Draft& draft, NodeNo conv) {
                const bool fits = isConv(draft, conv) && draft.op(conv).intAttr("group", 1) % 2 == 0 && draft.isWeight(draft.operand(conv, 1));
                return fits ? std::vector{draft.output(conv)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const std::int64_t groups = draft.op(match.anchor).intAttr("group", 1);
                std::vector<ValueNo> operands = operandsOf(draft, match.anchor);
                operands[1] = blocks(draft, operands[1], groups);
                return std::vector{again(draft, match.anchor, operands, {{"group", groups / 2}})};
            },
            [](SampleModel& model) {
                ConvChoice choice = model.chooseConv();
                choice.group = model.pick<std::int64_t>({1, 2, 2, 3, 4, 6});
                return model.conv(choice, model.input(choice.data()), model.chance(0.5));
            }};
}

} // namespace

void addGroupSubstitutions(std::vector<SubstitutionPtr>& all) { all.push_back(written(mergeGroups())); }

} // namespace tunesmith::rewrite
