// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// The bias of a convolution that stands beside it as a sum.
namespace tunesmith::rewrite {
namespace {

// Which operand of the sum or difference is the convolution; the other is one summand for each channel.
std::optional<std::size_t> biasedOperand(const Draft& draft, NodeNo sum) {
    if (!draft.is(sum, "Add") && !draft.is(sum, "Sub"))
        return std::nullopt;
    for (const std::size_t i : {std::size_t(0), std::size_t(1)}) {
        if (i == 1 && draft.is(sum, "Sub"))
            break;
        const ValueNo result = draft.operand(sum, i), other = draft.operand(sum, 1 - i);
        const NodeNo conv = plainMaker(draft, result);
        if (isConvolution(draft, conv) && isReadOnce(draft, result) && draft.isWeight(other) && isAlong(draft, other, draft.shape(result), 1) &&
            (draft.operand(conv, 2) == kNone || draft.isWeight(draft.operand(conv, 2))))
            return i;
    }
    return std::nullopt;
}

std::vector<ValueNo> putIn(Draft& draft, const Match& match) {
    const std::size_t i = *biasedOperand(draft, match.anchor);
    const NodeNo conv = plainMaker(draft, draft.operand(match.anchor, i));
    const Shape shape = draft.shape(match.values[0]);
    const ValueNo summand = asVector(draft, draft.operand(match.anchor, 1 - i));
    ValueNo bias = draft.operand(conv, 2);
    if (bias == kNone)
        bias = zerosOf(draft, draft.dtype(match.values[0]), {shape[1]});
    return {again(draft, conv, {draft.operand(conv, 0), draft.operand(conv, 1), draft.add(draft.op(match.anchor).op, {bias, summand})})};
}

WrittenRule putBiasIn() {
    return {{"put-bias-in",
             "conv(x, w, b) + c = conv(x, w, b + c), and the same of a difference",
             {"b and c are constants, c has one element or one for each channel", "only the sum reads the convolution's result"},
             true},
            [](const Draft& draft, NodeNo sum) { return biasedOperand(draft, sum) ? std::vector{draft.output(sum)} : std::vector<ValueNo>(); },
            putIn,
            [](SampleModel& model) {
                const ValueNo result = model.anyConv(model.chooseConv());
                if (result == kNone)
                    return kNone;
                const ValueNo other = model.alongAxis(model.draft().shape(result), 1);
                const char* const op = model.pick({"Add", "Add", "Sub"});
                return model.chance(0.5) ? model.draft().add(op, {result, other}) : model.draft().add(op, {other, result});
            }};
}

} // namespace

void addBiasSubstitutions(std::vector<SubstitutionPtr>& all) { all.push_back(written(putBiasIn())); }

} // namespace tunesmith::rewrite
