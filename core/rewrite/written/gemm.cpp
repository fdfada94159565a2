// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Gemm as the product and the sum that other rules speak of.
namespace tunesmith::rewrite {
namespace {

struct Attributes {
    double alpha, beta;
    bool transA, transB;
    Attributes(const Draft& draft, NodeNo gemm)
        : alpha(draft.op(gemm).floatAttr("alpha", 1)), beta(draft.op(gemm).floatAttr("beta", 1)), transA(draft.op(gemm).intAttr("transA", 0) != 0),
          transB(draft.op(gemm).intAttr("transB", 0) != 0) {}
};

// Whether nothing is left to compute when the model runs but the product and the sum.
bool isFree(const Draft& draft, NodeNo gemm) {
    const Attributes has(draft, gemm);
    const bool a = draft.isWeight(draft.operand(gemm, 0)), b = draft.isWeight(draft.operand(gemm, 1)), c = draft.isWeight(draft.operand(gemm, 2));
    const bool summed = draft.operand(gemm, 2) != kNone && has.beta != 0;
    return (!has.transA || a) && (!has.transB || b) && (has.alpha == 1 || a || b) && (!summed || has.beta == 1 || c);
}

ValueNo times(Draft& draft, ValueNo value, double factor) {
    if (factor == 1 || value == kNone)
        return value;
    const DType type = draft.dtype(value), wide = foldingType(type);
    return castTo(draft, draft.add("Mul", {castTo(draft, value, wide), scalar(draft, wide, factor)}), type);
}

std::vector<ValueNo> build(Draft& draft, const Match& match) {
    const Attributes has(draft, match.anchor);
    ValueNo a = draft.operand(match.anchor, 0), b = draft.operand(match.anchor, 1), c = draft.operand(match.anchor, 2);
    const bool ontoB = draft.isWeight(b);
    a = times(draft, has.transA ? swapLast(draft, a) : a, ontoB ? 1 : has.alpha);
    b = times(draft, has.transB ? swapLast(draft, b) : b, ontoB ? has.alpha : 1);
    const ValueNo product = draft.add("MatMul", {a, b});
    return {c == kNone || has.beta == 0 ? product : draft.add("Add", {product, times(draft, c, has.beta)})};
}

ValueNo sample(SampleModel& model) {
    const Shape sizes = model.shape(3);
    const std::int64_t transA = model.chance(0.3) ? 1 : 0, transB = model.chance(0.5) ? 1 : 0;
    const Shape shapeA = transA ? Shape{sizes[1], sizes[0]} : Shape{sizes[0], sizes[1]}, shapeB = transB ? Shape{sizes[2], sizes[1]} : Shape{sizes[1], sizes[2]};
    const std::map<std::string, Attribute> attributes{
        {"alpha", model.pick({1.0F, 1.0F, 0.5F, 0.0F})}, {"beta", model.pick({1.0F, 1.0F, -2.0F, 0.0F})}, {"transA", transA}, {"transB", transB}};
    const ValueNo a = model.chance(0.3) ? model.weight(shapeA) : model.input(shapeA), b = model.chance(0.6) ? model.weight(shapeB) : model.input(shapeB);
    if (model.opset() >= 11 && model.chance(0.2))
        return model.draft().add("Gemm", {a, b}, attributes);
    const Shape shapeC = model.pick<Shape>({{sizes[2]}, {1, sizes[2]}, {sizes[0], 1}, {sizes[0], sizes[2]}, {1}, {}});
    return model.draft().add("Gemm", {a, b, model.chance(0.7) ? model.weight(shapeC) : model.input(shapeC)}, attributes);
}

WrittenRule open(bool weights) {
    const char* const equation = "gemm(a, b, c) = alpha * a b + beta * c, a and b transposed where it says so";
    const std::string free = "alpha, beta and the transpositions are of constants where they are not 1 and none";
    const auto find = [weights](const Draft& draft, NodeNo gemm) {
        if (!draft.is(gemm, "Gemm") || !isFloat(draft.dtype(draft.output(gemm))) || !isFree(draft, gemm))
            return std::vector<ValueNo>();
        const bool constant = draft.isWeight(draft.operand(gemm, 1)) && (draft.operand(gemm, 2) == kNone || draft.isWeight(draft.operand(gemm, 2)));
        return constant == weights ? std::vector{draft.output(gemm)} : std::vector<ValueNo>();
    };
    if (weights)
        return {{"gemm-to-matmul", equation, {"b and c are constants", free}, true}, find, build, sample};
    return {{"gemm-of-activations-to-matmul", equation, {"b or c is computed when the model runs", free}, false}, find, build, sample};
}

// The weights that are transposed or multiplied, where anybody reads them but Gemms of which the same products are made.
std::vector<ValueNo> openedStillRead(const Draft& draft, NodeNo gemm) {
    const Attributes has(draft, gemm);
    const auto find = open(true).find;
    std::vector<ValueNo> read;
    for (const std::size_t i : {std::size_t(0), std::size_t(1)}) {
        const ValueNo weights = draft.operand(gemm, i);
        const bool changes = i == 0 ? has.transA : has.transB || has.alpha != 1; // find() has seen that b is constant
        const auto goesOn = [&](NodeNo reader) {
            const bool alike = draft.node(reader).op == draft.node(gemm).op && draft.operand(reader, i) == weights && draft.operand(reader, 1 - i) != weights;
            return !draft.isWeight(draft.output(reader)) && (!alike || find(draft, reader).empty());
        };
        if (draft.isWeight(weights) && changes && (draft.isOutput(weights) || std::ranges::any_of(draft.consumers(weights), goesOn)))
            read.push_back(weights);
    }
    return read;
}

} // namespace

void addGemmSubstitutions(std::vector<SubstitutionPtr>& all) {
    addFolding(all, open(true), openedStillRead);
    all.push_back(written(open(false)));
}

} // namespace tunesmith::rewrite
