// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/weights.h"

#include <algorithm>
#include <numeric>

namespace tunesmith::rewrite {

ValueNo castTo(Draft& draft, ValueNo value, DType type) {
    if (value == kNone || draft.dtype(value) == type)
        return value;
    return draft.add("Cast", {value}, {{"to", static_cast<std::int64_t>(type)}});
}

DType foldingType(DType type) { return type == DType::f16 || type == DType::bf16 ? DType::f32 : type; }

ValueNo asVector(Draft& draft, ValueNo value) { return value == kNone ? kNone : addReshape(draft, value, {elementCount(draft.shape(value))}); }

ValueNo along(Draft& draft, ValueNo value, std::size_t rank, std::size_t axis) {
    if (value == kNone)
        return kNone;
    Shape shape(rank, 1);
    shape[axis] = elementCount(draft.shape(value));
    return addReshape(draft, value, shape);
}

ValueNo zerosOf(Draft& draft, DType type, const Shape& shape) { return draft.constant(Tensor::zeros(type, shape)); }

ValueNo swapLast(Draft& draft, ValueNo value) {
    if (value == kNone || draft.shape(value).size() < 2)
        return kNone;
    std::vector<std::int64_t> perm(draft.shape(value).size());
    std::iota(perm.begin(), perm.end(), std::int64_t(0));
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return addTranspose(draft, value, perm);
}

ValueNo scaledOutputs(Draft& draft, NodeNo conv, ValueNo weights, ValueNo factors) {
    if (weights == kNone || factors == kNone)
        return kNone;
    const Shape shape = draft.shape(weights);
    const std::int64_t groups = draft.op(conv).intAttr("group", 1), count = elementCount(draft.shape(factors));
    if (count == 1 || draft.is(conv, "Conv"))
        return draft.add("Mul", {weights, along(draft, factors, shape.size(), 0)});
    Shape grouped{groups, shape[0] / groups}, factor(shape.size() + 1, 1);
    grouped.insert(grouped.end(), shape.begin() + 1, shape.end());
    factor[0] = groups;
    factor[2] = count / groups;
    return addReshape(draft, draft.add("Mul", {addReshape(draft, weights, grouped), addReshape(draft, factors, factor)}), shape);
}

std::vector<ValueNo> operandsOf(const Draft& draft, NodeNo node) {
    const auto read = draft.operands(node);
    std::vector<ValueNo> operands(read.begin(), read.end());
    std::ranges::replace(operands, kNone, Draft::kLeftOut);
    return operands;
}

ValueNo again(Draft& draft, NodeNo node, std::vector<ValueNo> operands, const std::map<std::string, Attribute>& changes) {
    while (!operands.empty() && operands.back() == Draft::kLeftOut)
        operands.pop_back();
    const DraftNode like = draft.node(node);
    if (changes.empty())
        return draft.add(like.op, operands, like.outputs);
    Node changed = draft.op(node);
    for (const auto& [key, value] : changes)
        changed.attributes[key] = value;
    return draft.add(draft.table().add(changed), operands, like.outputs);
}

ValueNo withOperand(Draft& draft, NodeNo node, std::size_t index, ValueNo operand) {
    std::vector<ValueNo> operands = operandsOf(draft, node);
    operands[index] = operand;
    return again(draft, node, std::move(operands));
}

ValueNo mapAgain(Draft& draft, NodeNo node, std::size_t mapped, ValueNo data) {
    if (data == kNone)
        return kNone;
    std::vector<ValueNo> operands = operandsOf(draft, node);
    const std::size_t rank = draft.shape(data).size();
    for (ValueNo& operand : operands) // of one element, which must not raise the rank of the result
        if (operand != Draft::kLeftOut && draft.shape(operand).size() > rank)
            operand = addReshape(draft, operand, {});
    operands[mapped] = data;
    return again(draft, node, std::move(operands));
}

} // namespace tunesmith::rewrite
