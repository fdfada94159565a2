// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/application_check.h"

#include <algorithm>
#include <cmath>

#include "core/ops/operator.h"
#include "core/rewrite/evaluate.h"

namespace tunesmith::rewrite {
namespace {

constexpr std::size_t kMostCheckedNodes = 96;
constexpr std::int64_t kMostCheckedElements = 1 << 15; // of all values together
constexpr double kMostCheckedSteps = 1 << 24;          // of one operator
constexpr std::uint64_t kCheckedOneIn = 16;
constexpr double kCheckTolerance = 1e-3; // for inputs that grow through many layers; mistakes are larger

bool isExactEnough(DType type) { return type != DType::f16 && type != DType::bf16 && type != DType::string; }

// The elements of a value; too many where it cannot be computed.
std::int64_t elementsToCheck(const Draft& draft, ValueNo value) {
    const TypeNo type = value == kNone ? kNone : draft.value(value).type;
    if (value == kNone)
        return 0;
    return type != kNone && draft.table().isStatic(type) && isExactEnough(draft.dtype(value)) ? elementCount(draft.shape(value)) : kMostCheckedElements + 1;
}

// Of a node whose values can all be computed.
double stepsOf(const Draft& draft, NodeNo number, const Operator& op) {
    if (!op.steps)
        return 0;
    std::vector<TensorType> types;
    for (const ValueNo operand : draft.operands(number))
        types.push_back(operand == kNone ? TensorType() : TensorType(draft.dtype(operand), draft.shape(operand)));
    std::vector<Tensor> constants(types.size());
    const Node node = draft.op(number);
    return op.steps(OpInputs(node, draft.table().opset(node.domain), std::move(types), std::move(constants)));
}

bool areFinite(const std::vector<Tensor>& values) {
    const auto isFinite = [](const Tensor& tensor) {
        for (std::int64_t i = 0; !tensor.absent() && tensor.type() != DType::string && i < tensor.count(); ++i)
            if (!std::isfinite(tensor.asDouble(i)))
                return false;
        return true;
    };
    return std::ranges::all_of(values, isFinite);
}

} // namespace

bool canBeChecked(const Draft& draft) {
    std::int64_t elements = 0;
    for (const ValueNo input : draft.inputs())
        elements += isFloat(draft.dtype(input)) ? elementsToCheck(draft, input) : kMostCheckedElements + 1;
    for (const NodeNo node : draft.order()) {
        const Operator* const op = findOperator(draft.op(node).op, draft.op(node).domain);
        if (!op || !op->eval || !op->deterministic || elements > kMostCheckedElements)
            return false;
        for (const ValueNo operand : draft.operands(node))
            elements += draft.constant(operand) ? elementsToCheck(draft, operand) : 0;
        for (std::size_t i = 0; i < draft.node(node).outputs; ++i)
            elements += elementsToCheck(draft, draft.output(node, i));
        if (elements <= kMostCheckedElements && stepsOf(draft, node, *op) > kMostCheckedSteps)
            return false;
    }
    return draft.order().size() <= kMostCheckedNodes && elements <= kMostCheckedElements;
}

bool isInCheckedSample(const Draft& before, const Draft& after) { return Rng(before.hash() ^ after.hash()).below(kCheckedOneIn) == 0; }

std::optional<std::string> mistakeOf(const Substitution& substitution, const Draft& before, const Draft& after) {
    if (!canBeChecked(before) || !canBeChecked(after))
        return std::nullopt;
    Rng rng(before.hash());
    const auto values = evaluate(before, smallInputs(before, rng));
    if (!values.ok() || !areFinite(*values))
        return std::nullopt;
    const auto rewritten = evaluateRewritten(after, *values);
    const auto difference = rewritten.ok() ? differenceOf(before, *values, after, *rewritten, kCheckTolerance) : std::optional(rewritten.error().message);
    return difference ? std::optional(substitution.card().name + ": " + *difference) : std::nullopt;
}

} // namespace tunesmith::rewrite
