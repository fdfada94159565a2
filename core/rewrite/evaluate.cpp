// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/evaluate.h"

#include <algorithm>
#include <cmath>

#include "core/ops/evaluate_node.h"

namespace tunesmith::rewrite {
namespace {

Status evaluateNodeOf(const Draft& draft, NodeNo number, std::vector<Tensor>& values) {
    Node node = draft.op(number);
    std::vector<Tensor> operands;
    for (const ValueNo operand : draft.operands(number)) {
        node.inputs.push_back(operand == kNone ? ValueId() : ValueId(operand));
        operands.push_back(operand == kNone ? Tensor() : values[operand]);
    }
    for (std::size_t i = 0; i < draft.node(number).outputs; ++i)
        node.outputs.emplace_back(draft.value(draft.output(number, i)).type == kNone ? -1 : std::int64_t(draft.output(number, i)));
    TS_ASSIGN(std::vector<Tensor> made, evaluateNode(node, draft.table().opset(node.domain), operands));
    for (std::size_t i = 0; i < made.size(); ++i)
        values[draft.output(number, i)] = std::move(made[i]);
    return {};
}

Status evaluateFor(const Draft& draft, ValueNo value, std::vector<Tensor>& values) {
    if (value == kNone || !values[value].absent())
        return {};
    if (const Tensor* constant = draft.constant(value)) {
        values[value] = *constant;
        return {};
    }
    for (const ValueNo operand : draft.operands(draft.value(value).maker))
        TS_TRY(evaluateFor(draft, operand, values));
    return evaluateNodeOf(draft, draft.value(value).maker, values);
}

bool isClose(double a, double b, double tolerance) { return a == b || std::abs(a - b) <= tolerance || (std::isnan(a) && std::isnan(b)); }

} // namespace

std::vector<Tensor> smallInputs(const Draft& draft, Rng& rng) {
    std::vector<Tensor> inputs;
    for (const ValueNo input : draft.inputs()) {
        Tensor tensor = Tensor::zeros(DType::f32, draft.shape(input));
        for (float& x : tensor.mutableData<float>())
            x = static_cast<float>(static_cast<std::int64_t>(rng.below(9)) - 4);
        inputs.push_back(tensor.cast(draft.dtype(input)));
    }
    return inputs;
}

Result<std::vector<Tensor>> evaluate(const Draft& draft, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> values(draft.values());
    for (std::size_t i = 0; i < inputs.size(); ++i)
        values[draft.inputs()[i]] = inputs[i];
    return evaluateRewritten(draft, std::move(values));
}

Result<Tensor> evaluateWeight(const Draft& draft, ValueNo weight) {
    std::vector<Tensor> values(draft.values());
    TS_TRY(evaluateFor(draft, weight, values));
    return values[weight];
}

Result<std::vector<Tensor>> evaluateRewritten(const Draft& draft, std::vector<Tensor> values) {
    values.resize(draft.values());
    for (ValueNo value = 0; value < draft.values(); ++value)
        if (const Tensor* constant = draft.constant(value))
            values[value] = *constant;
    for (const NodeNo node : draft.order())
        if (values[draft.output(node)].absent())
            TS_TRY(evaluateNodeOf(draft, node, values));
    return values;
}

namespace {

std::optional<std::string> differenceOfTensors(const Tensor& a, const Tensor& b, double tolerance) {
    if (a.shape() != b.shape() || a.type() != b.type())
        return "has shape " + shapeText(b.shape()) + ", not " + shapeText(a.shape());
    double scale = 1;
    for (std::int64_t i = 0; i < a.count(); ++i)
        scale = std::isfinite(a.asDouble(i)) ? std::max(scale, std::abs(a.asDouble(i))) : scale;
    for (std::int64_t i = 0; i < a.count(); ++i)
        if (!isClose(a.asDouble(i), b.asDouble(i), tolerance * scale))
            return "is " + std::to_string(b.asDouble(i)) + " at element " + std::to_string(i) + ", not " + std::to_string(a.asDouble(i));
    return std::nullopt;
}

} // namespace

std::optional<std::string> differenceOf(const Draft& before, const std::vector<Tensor>& valuesBefore, const Draft& after, const std::vector<Tensor>& valuesAfter,
                                        double tolerance) {
    for (std::size_t r = 0; r < before.outputs().size(); ++r)
        if (const auto difference = differenceOfTensors(valuesBefore[before.outputs()[r]], valuesAfter[after.outputs()[r]], tolerance))
            return "result " + std::to_string(r) + " " + *difference;
    for (NodeNo node = 0; node < before.nodes(); ++node)
        for (std::size_t i = 0; before.isAlive(node) && after.isAlive(node) && i < before.operands(node).size(); ++i) {
            const ValueNo was = before.operand(node, i), is = after.operand(node, i);
            if (was == is)
                continue;
            if (const auto difference = differenceOfTensors(valuesBefore[was], valuesAfter[is], tolerance))
                return "operand " + std::to_string(i) + " of " + before.op(node).op + " " + *difference;
        }
    return std::nullopt;
}

} // namespace tunesmith::rewrite
