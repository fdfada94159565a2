// SPDX-License-Identifier: GPL-3.0-or-later
#include <numeric>

#include "core/rewrite/written/families.h"
#include "core/rewrite/written/inspect.h"
#include "core/rewrite/written/rule.h"
#include "core/rewrite/written/weights.h"

// Transposes change places with arithmetic of two tensors and with products of matrices.
namespace tunesmith::rewrite {
namespace {

using Perm = std::vector<std::int64_t>;

Perm inverse(const Perm& perm) {
    Perm back(perm.size());
    for (std::size_t d = 0; d < perm.size(); ++d)
        back[static_cast<std::size_t>(perm[d])] = static_cast<std::int64_t>(d);
    return back;
}

bool isArithmetic(const Draft& draft, NodeNo node) {
    return isOneOf(draft.op(node).op, {"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max"}) && draft.node(node).operands == 2 && !mappedOperand(draft, node);
}

// With extents of 1 in front up to the rank, then transposed.
ValueNo raisedAndTransposed(Draft& draft, ValueNo value, const Perm& perm) {
    Shape shape = draft.shape(value);
    shape.insert(shape.begin(), perm.size() - std::min(perm.size(), shape.size()), 1);
    const ValueNo raised = addReshape(draft, value, shape);
    return raised == kNone ? kNone : addTranspose(draft, raised, perm);
}

// The transposition that both operands come from, or one and the other is constant.
std::optional<Perm> commonPerm(const Draft& draft, NodeNo node) {
    const std::size_t rank = draft.shape(draft.output(node)).size();
    std::optional<Perm> perm;
    for (const ValueNo operand : draft.operands(node)) {
        const NodeNo transpose = madeBy(draft, operand, "Transpose");
        if (draft.isWeight(operand) && draft.shape(operand).size() <= rank)
            continue;
        if (transpose == kNone || draft.shape(operand).size() != rank || !isReadOnce(draft, operand) || (perm && *perm != permOf(draft, transpose)))
            return std::nullopt;
        perm = permOf(draft, transpose);
    }
    return perm;
}

ValueNo sampleArithmetic(SampleModel& model, ValueNo a, ValueNo b) {
    const char* const op = model.pick({"Add", "Sub", "Mul", "Max"});
    return model.chance(0.7) ? model.draft().add(op, {a, b}) : model.draft().add(op, {b, a});
}

// A shape that is repeated to the other.
Shape thinned(SampleModel& model, Shape shape) {
    for (std::int64_t& extent : shape)
        extent = model.chance(0.3) ? 1 : extent;
    while (!shape.empty() && shape[0] == 1 && model.chance(0.5))
        shape.erase(shape.begin());
    return shape;
}

WrittenRule arithmeticDown() {
    return {{"transpose-down-arithmetic",
             "transpose(a) + transpose(b) = transpose(a + b), transpose(a) + w = transpose(a + transposed w), and the same of -, *, /, ^, minimum and maximum",
             {"both are transposed alike, or w is constant", "nobody else reads what is transposed"},
             false},
            [](const Draft& draft, NodeNo node) {
                return isArithmetic(draft, node) && commonPerm(draft, node) ? std::vector{draft.output(node)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const Perm perm = *commonPerm(draft, match.anchor);
                std::vector<ValueNo> operands = operandsOf(draft, match.anchor);
                for (ValueNo& operand : operands)
                    operand = draft.isWeight(operand) ? raisedAndTransposed(draft, operand, inverse(perm)) : draft.operand(madeBy(draft, operand, "Transpose"), 0);
                const ValueNo result = again(draft, match.anchor, operands);
                return std::vector{result == kNone ? kNone : addTranspose(draft, result, perm)};
            },
            [](SampleModel& model) {
                const Shape shape = model.shape(static_cast<std::size_t>(model.between(1, 4)));
                const Perm perm = model.permutation(shape.size());
                const ValueNo a = model.draft().add("Transpose", {model.input(shape)}, {{"perm", perm}});
                if (model.chance(0.5))
                    return sampleArithmetic(model, a, model.weight(thinned(model, model.draft().shape(a))));
                Shape other = shape;
                for (std::int64_t& extent : other)
                    extent = model.chance(0.2) ? 1 : extent;
                const Perm another = model.chance(0.15) ? model.permutation(perm.size()) : perm;
                return sampleArithmetic(model, a, model.draft().add("Transpose", {model.input(other)}, {{"perm", another}}));
            }};
}

// Whether the arithmetic before a transpose can be done after it, with no more than one tensor to transpose in its place.
bool canRise(const Draft& draft, NodeNo node, std::size_t rank) {
    const auto full = [&](ValueNo operand) { return draft.shape(operand).size() == rank; };
    const auto turned = [&](ValueNo operand) { return full(operand) && madeBy(draft, operand, "Transpose") != kNone; };
    const ValueNo a = draft.operand(node, 0), b = draft.operand(node, 1);
    return (turned(a) && turned(b)) || (draft.isWeight(a) && full(b)) || (draft.isWeight(b) && full(a));
}

WrittenRule arithmeticUp() {
    return {{"transpose-up-arithmetic",
             "transpose(a + b) = transpose(a) + transpose(b), and the same of -, *, /, ^, minimum and maximum",
             {"a or b is constant, or both are transposed already", "nobody else reads the sum"},
             false},
            [](const Draft& draft, NodeNo transpose) {
                const ValueNo data = draft.operand(transpose, 0);
                const NodeNo node = draft.is(transpose, "Transpose") && isReadOnce(draft, data) ? plainMaker(draft, data) : kNone;
                const bool fits = node != kNone && isArithmetic(draft, node) && canRise(draft, node, draft.shape(data).size());
                return fits ? std::vector{draft.output(transpose)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const Perm perm = permOf(draft, match.anchor);
                const NodeNo node = plainMaker(draft, draft.operand(match.anchor, 0));
                std::vector<ValueNo> operands = operandsOf(draft, node);
                for (ValueNo& operand : operands)
                    operand = raisedAndTransposed(draft, operand, perm);
                return std::vector{again(draft, node, operands)};
            },
            [](SampleModel& model) {
                const Shape shape = model.shape(static_cast<std::size_t>(model.between(1, 4)));
                const ValueNo a = model.input(shape);
                if (model.chance(0.6))
                    return model.transposed(sampleArithmetic(model, a, model.weight(thinned(model, shape))));
                const Perm perm = model.permutation(shape.size());
                const auto turned = [&](ValueNo value) { return model.draft().add("Transpose", {value}, {{"perm", perm}}); };
                const ValueNo left = turned(a);
                return model.transposed(sampleArithmetic(model, left, turned(model.input(shape))));
            }};
}

bool swapsLast(const Draft& draft, NodeNo transpose) {
    Perm perm = permOf(draft, transpose);
    if (perm.size() < 2)
        return false;
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return std::ranges::is_sorted(perm);
}

bool areMatrices(const Draft& draft, NodeNo matmul) { return draft.shape(draft.operand(matmul, 0)).size() >= 2 && draft.shape(draft.operand(matmul, 1)).size() >= 2; }

bool hasWeights(const Draft& draft, NodeNo matmul) { return draft.isWeight(draft.operand(matmul, 0)) || draft.isWeight(draft.operand(matmul, 1)); }

ValueNo sampleProduct(SampleModel& model, bool turned) {
    const Shape sizes = model.shape(3), batch = model.shape(static_cast<std::size_t>(model.between(0, 2)), 2);
    const bool right = model.chance(0.5);
    Shape x = right ? Shape{sizes[0], sizes[1]} : Shape{sizes[1], sizes[2]};
    if (turned)
        std::swap(x[0], x[1]);
    x.insert(x.begin(), batch.begin(), batch.end());
    const ValueNo data = model.input(x), moved = turned ? swapLast(model.draft(), data) : data;
    const ValueNo weights = model.weight(right ? Shape{sizes[1], sizes[2]} : Shape{sizes[0], sizes[1]});
    return right ? model.draft().add("MatMul", {moved, weights}) : model.draft().add("MatMul", {weights, moved});
}

// Both operands transposed, in the other order.
ValueNo turnedProduct(Draft& draft, NodeNo matmul) {
    const ValueNo a = draft.operand(matmul, 0), b = draft.operand(matmul, 1), left = swapLast(draft, b);
    return draft.add("MatMul", {left, swapLast(draft, a)});
}

WrittenRule productUp() {
    return {{"transpose-of-product",
             "transpose(a b) = transpose(b) transpose(a)",
             {"a or b is constant", "the last two axes change places, others stay", "nobody else reads the product"},
             false},
            [](const Draft& draft, NodeNo transpose) {
                const ValueNo data = draft.operand(transpose, 0);
                const NodeNo matmul = draft.is(transpose, "Transpose") && swapsLast(draft, transpose) && isReadOnce(draft, data) ? madeBy(draft, data, "MatMul") : kNone;
                const bool fits = matmul != kNone && areMatrices(draft, matmul) && hasWeights(draft, matmul);
                return fits ? std::vector{draft.output(transpose)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) { return std::vector{turnedProduct(draft, madeBy(draft, draft.operand(match.anchor, 0), "MatMul"))}; },
            [](SampleModel& model) {
                const ValueNo product = sampleProduct(model, false);
                return model.chance(0.1) ? model.transposed(product) : swapLast(model.draft(), product);
            }};
}

// Which operand is transposed; the other is constant.
std::optional<std::size_t> turnedOperand(const Draft& draft, NodeNo matmul) {
    for (const std::size_t i : {std::size_t(0), std::size_t(1)}) {
        const NodeNo transpose = madeBy(draft, draft.operand(matmul, i), "Transpose");
        if (transpose != kNone && draft.isWeight(draft.operand(matmul, 1 - i)) && swapsLast(draft, transpose) && isReadOnce(draft, draft.operand(matmul, i)))
            return i;
    }
    return std::nullopt;
}

WrittenRule productDown() {
    return {{"product-of-transpose",
             "transpose(x) w = transpose(transpose(w) x), w transpose(x) = transpose(x transpose(w))",
             {"w is constant", "the last two axes change places, others stay", "only the product reads what is transposed"},
             false},
            [](const Draft& draft, NodeNo matmul) {
                const bool fits = draft.is(matmul, "MatMul") && areMatrices(draft, matmul) && turnedOperand(draft, matmul);
                return fits ? std::vector{draft.output(matmul)} : std::vector<ValueNo>();
            },
            [](Draft& draft, const Match& match) {
                const std::size_t i = *turnedOperand(draft, match.anchor);
                const ValueNo x = draft.operand(madeBy(draft, draft.operand(match.anchor, i), "Transpose"), 0), w = swapLast(draft, draft.operand(match.anchor, 1 - i));
                return std::vector{swapLast(draft, i == 0 ? draft.add("MatMul", {w, x}) : draft.add("MatMul", {x, w}))};
            },
            [](SampleModel& model) { return sampleProduct(model, true); }};
}

} // namespace

void addTransposeSubstitutions(std::vector<SubstitutionPtr>& all) {
    for (const auto& rule : {arithmeticDown(), arithmeticUp(), productUp(), productDown()})
        all.push_back(written(rule));
}

} // namespace tunesmith::rewrite
