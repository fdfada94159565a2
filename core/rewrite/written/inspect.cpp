// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/written/inspect.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tunesmith::rewrite {
namespace {

bool isUnaryMap(std::string_view op) {
    return isOneOf(op, {"Relu", "LeakyRelu", "Elu",  "Selu",  "Celu",     "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSigmoid", "HardSwish"}) ||
           isOneOf(op, {"Mish", "Gelu",      "Erf",  "Exp",   "Log",      "Sqrt",    "Abs",  "Sign",     "Floor",    "Ceil",        "Round"}) ||
           isOneOf(op, {"Neg",  "Not",       "Sin",  "Cos",   "Cast",     "Shrink",  "Clip", "Reciprocal", "ThresholdedRelu"});
}

} // namespace

bool isPlain(const Draft& draft, NodeNo node) {
    const auto isKnown = [&](ValueNo value) { return draft.value(value).type != kNone && draft.table().isStatic(draft.value(value).type); };
    for (const ValueNo operand : draft.operands(node))
        if (operand != kNone && !isKnown(operand))
            return false;
    for (std::size_t i = 0; i < draft.node(node).outputs; ++i)
        if (!isKnown(draft.output(node, i)))
            return false;
    return draft.op(node).domain.empty();
}

bool isPlain(const Draft& draft, NodeNo node, std::string_view op) { return draft.is(node, op) && isPlain(draft, node); }

NodeNo madeBy(const Draft& draft, ValueNo value, std::string_view op) {
    const NodeNo node = draft.maker(value, op);
    return node != kNone && isPlain(draft, node) ? node : kNone;
}

NodeNo plainMaker(const Draft& draft, ValueNo value) {
    const NodeNo node = value == kNone ? kNone : draft.value(value).maker;
    return node != kNone && isPlain(draft, node) ? node : kNone;
}

bool isOneOf(std::string_view op, std::initializer_list<std::string_view> ops) { return std::ranges::find(ops, op) != ops.end(); }

bool isReadOnce(const Draft& draft, ValueNo value) { return draft.consumers(value).size() == 1 && !draft.isOutput(value); }

bool isUnread(const Draft& draft, ValueNo value) { return draft.consumers(value).empty() && !draft.isOutput(value); }

double bytesOf(const Draft& draft, ValueNo value) {
    if (draft.value(value).type == kNone || !draft.table().isStatic(draft.value(value).type))
        return 0;
    return static_cast<double>(elementCount(draft.shape(value))) * static_cast<double>(byteSize(draft.dtype(value)));
}

bool isReadBesides(const Draft& draft, ValueNo weights, NodeNo reader) {
    const auto runs = [&](NodeNo node) { return node != reader && !draft.isWeight(draft.output(node)); };
    return draft.isOutput(weights) || std::ranges::any_of(draft.consumers(weights), runs);
}

std::optional<double> numberOf(const Draft& draft, ValueNo value) {
    const Tensor* const constant = draft.constant(value);
    return constant && constant->count() == 1 && constant->type() != DType::string ? std::optional(constant->asDouble(0)) : std::nullopt;
}

bool isNumber(const Draft& draft, ValueNo value, double number) {
    const auto found = numberOf(draft, value);
    if (!found)
        return false;
    const double digits = draft.dtype(value) == DType::f64 ? 1e-15 : 1e-5; // models write 1.41421 for the root of 2
    const double rounded = Tensor::scalar(number).cast(draft.dtype(value)).asDouble(0);
    return std::abs(*found - rounded) <= digits * std::abs(rounded);
}

bool isFilledWith(const Draft& draft, ValueNo value, double number) {
    const Tensor* const constant = draft.constant(value);
    if (!constant || constant->type() == DType::string)
        return false;
    for (std::int64_t i = 0; i < constant->count(); ++i)
        if (constant->asDouble(i) != number)
            return false;
    return true;
}

std::optional<std::vector<std::int64_t>> numbersOf(const Draft& draft, NodeNo node, const std::string& attribute, std::size_t operand) {
    if (draft.op(node).has(attribute))
        return draft.op(node).intsAttr(attribute);
    const Tensor* const constant = draft.constant(draft.operand(node, operand));
    return constant ? std::optional(constant->asInts()) : std::nullopt;
}

bool isAlong(const Draft& draft, ValueNo value, const Shape& shape, std::size_t axis) {
    const Shape& own = draft.shape(value);
    if (own.size() > shape.size())
        return false;
    for (std::size_t d = 0; d < own.size(); ++d) {
        const std::size_t at = d + shape.size() - own.size();
        if (own[d] != 1 && (at != axis || own[d] != shape[axis]))
            return false;
    }
    return true;
}

bool isSingle(const Draft& draft, ValueNo value) { return elementCount(draft.shape(value)) == 1; }

bool isConv(const Draft& draft, NodeNo node) {
    return node != kNone && draft.is(node, "Conv") && isPlain(draft, node) && draft.shape(draft.operand(node, 1)).size() >= 3 && !draft.op(node).has("auto_pad");
}

bool isConvolution(const Draft& draft, NodeNo node) {
    return node != kNone && isOneOf(draft.op(node).op, {"Conv", "ConvTranspose"}) && isPlain(draft, node) && draft.shape(draft.operand(node, 1)).size() >= 3;
}

std::optional<std::size_t> mappedOperand(const Draft& draft, NodeNo node) {
    const std::string& op = draft.op(node).op;
    if (draft.node(node).outputs != 1)
        return std::nullopt;
    if (isUnaryMap(op))
        return 0;
    if (!isOneOf(op, {"Add", "Sub", "Mul", "Div", "Pow"}) || draft.node(node).operands != 2)
        return std::nullopt;
    const Shape& result = draft.shape(draft.output(node));
    for (const std::size_t i : {std::size_t(0), std::size_t(1)})
        if (isSingle(draft, draft.operand(node, 1 - i)) && draft.shape(draft.operand(node, i)) == result)
            return i;
    return std::nullopt;
}

bool isReshape(const Draft& draft, NodeNo node) {
    return isOneOf(draft.op(node).op, {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) && elementCount(draft.shape(draft.output(node))) > 0;
}

std::vector<std::int64_t> permOf(const Draft& draft, NodeNo transpose) {
    const std::size_t rank = draft.shape(draft.output(transpose)).size();
    std::vector<std::int64_t> reversed(rank);
    std::iota(reversed.rbegin(), reversed.rend(), std::int64_t(0));
    return draft.op(transpose).intsAttr("perm", reversed);
}

} // namespace tunesmith::rewrite
