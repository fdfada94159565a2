// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Constant factors and divisors of a convolution's or a product's result become part of the weights.
namespace tunesmith::rewrite {
namespace {

// Which operand is multiplied or divided; the other is constant.
std::optional<std::size_t> scaledOperand(const Draft& draft, NodeNo node) {
    const bool product = draft.is(node, "Mul");
    if ((!product && !draft.is(node, "Div")) || !isFloat(draft.dtype(draft.output(node))))
        return std::nullopt;
    for (const std::size_t i : {std::size_t(0), std::size_t(1)})
        if ((i == 0 || product) && draft.isWeight(draft.operand(node, 1 - i)) && isReadOnce(draft, draft.operand(node, i)))
            return i;
    return std::nullopt;
}

// The factors as a vector, of the type that weights are computed in.
ValueNo factorsOf(Draft& draft, NodeNo node, std::size_t scaled) {
    const ValueNo given = draft.operand(node, 1 - scaled), other = castTo(draft, asVector(draft, given), foldingType(draft.dtype(given)));
    return draft.is(node, "Mul") || other == kNone ? other : draft.add("Div", {scalar(draft, draft.dtype(other), 1), other});
}

ValueNo scaledBySample(SampleModel& model, ValueNo value, std::size_t axis) {
    if (value == kNone)
        return kNone;
    const Shape shape = model.draft().shape(value);
    if (model.chance(0.3)) // no zeros to divide by
        return model.draft().add("Div", {value, model.positive(model.chance(0.5) ? Shape{} : Shape(shape.size(), 1))});
    const ValueNo other = model.alongAxis(shape, axis);
    return model.chance(0.5) ? model.draft().add("Mul", {value, other}) : model.draft().add("Mul", {other, value});
}

std::vector<ValueNo> findConv(const Draft& draft, NodeNo node) {
    const auto scaled = scaledOperand(draft, node);
    const NodeNo conv = scaled ? plainMaker(draft, draft.operand(node, *scaled)) : kNone;
    if (!isConvolution(draft, conv) || !draft.isWeight(draft.operand(conv, 1)) || (draft.operand(conv, 2) != kNone && !draft.isWeight(draft.operand(conv, 2))) ||
        !isAlong(draft, draft.operand(node, 1 - *scaled), draft.shape(draft.output(conv)), 1))
        return {};
    return {draft.output(node)};
}

WrittenRule scaleConv() {
    return {{"scale-conv-weights",
             "conv(x, w, b) * c = conv(x, w * c, b * c), and the same of a quotient",
             {"w, b and c are constants, c has one element or one for each channel", "only the product reads the convolution's result"},
             true},
            findConv,
            [](Draft& draft, const Match& match) {
                const std::size_t scaled = *scaledOperand(draft, match.anchor);
                const NodeNo conv = plainMaker(draft, draft.operand(match.anchor, scaled));
                const DType type = draft.dtype(match.values[0]), wide = foldingType(type);
                const ValueNo factors = factorsOf(draft, match.anchor, scaled), bias = castTo(draft, draft.operand(conv, 2), wide);
                const ValueNo weights = scaledOutputs(draft, conv, castTo(draft, draft.operand(conv, 1), wide), factors);
                const ValueNo moved = bias == kNone ? Draft::kLeftOut : castTo(draft, draft.add("Mul", {bias, factors}), type);
                return std::vector{again(draft, conv, {draft.operand(conv, 0), castTo(draft, weights, type), moved})};
            },
            [](SampleModel& model) { return scaledBySample(model, model.anyConv(model.chooseConv()), 1); }};
}

// Which operand of the product takes the factors: constant ones do, a row of factors goes with the right one, a column with the left.
std::optional<std::size_t> takingOperand(const Draft& draft, NodeNo matmul, ValueNo factors) {
    const Shape& product = draft.shape(draft.output(matmul));
    for (const std::size_t side : {std::size_t(1), std::size_t(0)}) {
        const ValueNo weights = draft.operand(matmul, side);
        if (!draft.isWeight(weights) || product.empty() || draft.shape(factors).size() > product.size())
            continue;
        const bool matrices = draft.shape(draft.operand(matmul, 0)).size() >= 2 && draft.shape(draft.operand(matmul, 1)).size() >= 2;
        if (isSingle(draft, factors) || (matrices && isAlong(draft, factors, product, product.size() - 2 + side)))
            return side;
    }
    return std::nullopt;
}

std::vector<ValueNo> findMatmul(const Draft& draft, NodeNo node) {
    const auto scaled = scaledOperand(draft, node);
    const NodeNo matmul = scaled ? madeBy(draft, draft.operand(node, *scaled), "MatMul") : kNone;
    const bool fits = matmul != kNone && takingOperand(draft, matmul, draft.operand(node, 1 - *scaled));
    return fits ? std::vector{draft.output(node)} : std::vector<ValueNo>();
}

WrittenRule scaleMatmul() {
    return {{"scale-matmul-weights",
             "(x w) * c = x (w * c), (w x) * c = (w * c) x, and the same of a quotient",
             {"w and c are constants", "c has one element, one for each column of w, or one for each row if w is the left operand",
              "nobody else reads the product of matrices"},
             true},
            findMatmul,
            [](Draft& draft, const Match& match) {
                const std::size_t scaled = *scaledOperand(draft, match.anchor);
                const NodeNo matmul = madeBy(draft, draft.operand(match.anchor, scaled), "MatMul");
                const std::size_t side = *takingOperand(draft, matmul, draft.operand(match.anchor, 1 - scaled));
                const DType type = draft.dtype(match.values[0]);
                const ValueNo factors = factorsOf(draft, match.anchor, scaled), weights = castTo(draft, draft.operand(matmul, side), foldingType(type));
                const ValueNo shaped = side == 1 ? factors : along(draft, factors, 2, 0);
                const bool single = factors != kNone && isSingle(draft, factors);
                const ValueNo moved = draft.add("Mul", {weights, single ? asVector(draft, factors) : shaped});
                return std::vector{withOperand(draft, matmul, side, castTo(draft, moved, type))};
            },
            [](SampleModel& model) {
                const Shape sizes = model.shape(3), batch = model.shape(static_cast<std::size_t>(model.between(0, 2)), 2);
                Shape a{sizes[0], sizes[1]}, b{sizes[1], sizes[2]};
                Shape& batched = model.chance(0.6) ? a : b;
                batched.insert(batched.begin(), batch.begin(), batch.end());
                const bool right = model.chance(0.6);
                if (batch.empty() && model.chance(0.1))
                    a.erase(a.begin());
                const ValueNo product = model.draft().add("MatMul", {right ? model.input(a) : model.weight(a), right ? model.weight(b) : model.input(b)});
                const std::size_t rank = product == kNone ? 0 : model.draft().shape(product).size();
                return scaledBySample(model, product, rank < 2 || right ? rank - 1 : rank - 2);
            }};
}

// The weights that the factors go into, where others read them.
std::vector<ValueNo> scaledStillRead(const Draft& draft, NodeNo node) {
    const std::size_t scaled = *scaledOperand(draft, node);
    const NodeNo product = plainMaker(draft, draft.operand(node, scaled));
    const std::size_t side = draft.is(product, "MatMul") ? *takingOperand(draft, product, draft.operand(node, 1 - scaled)) : 1;
    const ValueNo weights = draft.operand(product, side);
    return isReadBesides(draft, weights, product) ? std::vector{weights} : std::vector<ValueNo>();
}

} // namespace

void addScaleSubstitutions(std::vector<SubstitutionPtr>& all) {
    addFolding(all, scaleConv(), scaledStillRead);
    addFolding(all, scaleMatmul(), scaledStillRead);
}

} // namespace tunesmith::rewrite
