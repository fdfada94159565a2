// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/quantised_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/quantize.h"

namespace tunesmith {
namespace {

// Whether no sum leaves int32, in which floats would go on.
bool fits(const QuantisedOperands& operands, std::int64_t products) {
    std::int64_t largest = 0;
    if (!operands.bias.absent())
        for (const std::int32_t value : operands.bias.data<std::int32_t>())
            largest = std::max(largest, std::abs(std::int64_t{value}));
    return largest + products * 255 * 255 <= std::numeric_limits<std::int32_t>::max();
}

} // namespace

bool isPlain(const Node& node, const char* op) {
    return node.op == op && node.domain.empty();
}

std::optional<QuantisedValue> QuantisedReader::parameters(const Node& node, ValueId stored) const {
    const DType type = typeOf(stored).dtype;
    const bool plain = node.intAttr("block_size", 0) == 0 && node.intAttr("precision", 0) == 0 && node.intAttr("saturate", 1) == 1;
    if (!plain || !typeOf(stored).isStatic() || !isConstant(node, 1) || constant(node.inputs[1]).type() != DType::f32 || (node.hasInput(2) && !isConstant(node, 2)))
        return std::nullopt;
    const auto isGood = [](float scale) { return std::isnormal(scale) && scale > 0; };
    const Tensor& scale = constant(node.inputs[1]);
    if (!std::ranges::all_of(scale.data<float>(), isGood))
        return std::nullopt;
    const auto rank = static_cast<std::int64_t>(typeOf(stored).shape().size());
    const std::int64_t axis = node.intAttr("axis", 1);
    return QuantisedValue{stored, node.inputs[1], node.hasInput(2) ? node.inputs[2] : ValueId(), type, scale.count() == 1 && scale.rank() <= 1 ? -1 : axis < 0 ? axis + rank : axis};
}

std::optional<QuantisedValue> QuantisedReader::dequantised(ValueId real) const {
    const NodeId producer = graph_.value(real).producer;
    if (!producer.valid() || !isPlain(graph_.node(producer), "DequantizeLinear") || typeOf(real).dtype != DType::f32)
        return std::nullopt;
    return parameters(graph_.node(producer), graph_.node(producer).inputs[0]);
}

std::int64_t QuantisedReader::zeroOf(const QuantisedValue& value) const {
    return value.zero.valid() ? constant(value.zero).asInt(0) : 0;
}

float QuantisedReader::scaleOf(const QuantisedValue& value, std::int64_t i) const {
    return constant(value.scale).data<float>()[static_cast<std::size_t>(value.axis < 0 ? 0 : i)];
}

std::optional<QuantisedOperands> QuantisedReader::operandsOf(const Node& product) const {
    const auto x = dequantised(product.inputs[0]), w = dequantised(product.inputs[1]);
    if (!x || !w || x->axis >= 0 || !ops::isByte(x->type) || !ops::isByte(w->type) || !graph_.value(w->stored).isConstant())
        return std::nullopt;
    const Tensor& weights = constant(w->stored);
    const bool conv = isPlain(product, "Conv"), turned = conv || product.intAttr("transB", 0) != 0;
    if (weights.rank() != (conv ? 4 : 2) || typeOf(x->stored).shape().size() < 2 || (w->axis >= 0 && w->axis != (turned ? 0 : 1)))
        return std::nullopt;
    const std::int64_t outputs = weights.shape()[turned ? 0 : 1];
    QuantisedOperands operands{*x, *w, {}};
    if (product.hasInput(2)) {
        operands.bias = biasOf(product.inputs[2], *x, *w);
        if (operands.bias.shape() != Shape{outputs})
            return std::nullopt;
    }
    return fits(operands, weights.count() / std::max<std::int64_t>(1, outputs)) ? std::optional(operands) : std::nullopt;
}

// A constant as int32 numbers of the scale that products have; absent where it is something else.
Tensor QuantisedReader::biasOf(ValueId id, const QuantisedValue& x, const QuantisedValue& w) const {
    const Tensor real = realConstant(id);
    Tensor stored = real.absent() ? Tensor() : Tensor::zeros(DType::i32, real.shape());
    for (std::int64_t i = 0; i < stored.count(); ++i) {
        const float value = real.data<float>()[static_cast<std::size_t>(i)];
        const double scale = static_cast<double>(scaleOf(x, 0)) * scaleOf(w, i), number = std::nearbyint(value / scale);
        if (!(std::abs(number * scale - value) <= 1e-6 * std::abs(value)) || std::abs(number) > std::numeric_limits<std::int32_t>::max())
            return Tensor();
        stored.mutableData<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(number);
    }
    return stored;
}

// float32, or int32 that are dequantised.
Tensor QuantisedReader::realConstant(ValueId id) const {
    if (graph_.value(id).isConstant())
        return constant(id).type() == DType::f32 && constant(id).rank() == 1 ? constant(id) : Tensor();
    const NodeId producer = graph_.value(id).producer;
    if (!producer.valid() || !isPlain(graph_.node(producer), "DequantizeLinear") || !isConstant(graph_.node(producer), 0))
        return Tensor();
    const auto bytes = parameters(graph_.node(producer), graph_.node(producer).inputs[0]);
    if (!bytes || bytes->type != DType::i32 || bytes->axis > 0 || constant(bytes->stored).rank() != 1 || bytes->zero.valid())
        return Tensor();
    Tensor real = constant(bytes->stored).cast(DType::f32);
    for (std::int64_t i = 0; i < real.count(); ++i)
        real.mutableData<float>()[static_cast<std::size_t>(i)] *= scaleOf(*bytes, i);
    return real;
}

bool QuantisedReader::hasFactors(const QuantisedOperands& operands, const std::optional<QuantisedValue>& result) const {
    const std::int64_t count = constant(operands.w.scale).count();
    for (std::int64_t i = 0; i < count; ++i) {
        const float product = scaleOf(operands.x, 0) * scaleOf(operands.w, i);
        if (!std::isnormal(product) || (result && !std::isnormal(product / scaleOf(*result, 0))))
            return false;
    }
    return true;
}

} // namespace tunesmith
