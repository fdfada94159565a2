// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/rewrite/pattern_constants.h"

#include <algorithm>

namespace tunesmith::rewrite {
namespace {

constexpr std::int64_t kMostElements = 1 << 22;

// Whether a constant can have the shape, and what stands where.
bool fits(TermOp op, const Shape& shape) {
    switch (op) {
    case TermOp::ones: return true;
    case TermOp::productIdentity: return shape.size() == 2 && shape[0] == shape[1];
    case TermOp::convIdentity: return shape.size() == 4 && shape[0] == shape[1] && shape[2] % 2 == 1 && shape[3] % 2 == 1;
    case TermOp::poolWeights: return shape.size() == 4 && shape[1] == 1;
    default: return false;
    }
}

float elementAt(TermOp op, const Shape& shape, std::int64_t i) {
    const std::int64_t taps = shape.size() == 4 ? shape[2] * shape[3] : 1;
    switch (op) {
    case TermOp::productIdentity: return i / shape[1] == i % shape[1] ? 1.0F : 0.0F;
    case TermOp::convIdentity: {
        const std::int64_t middle = shape[2] / 2 * shape[3] + shape[3] / 2, channel = i / taps;
        return i % taps == middle && channel / shape[1] == channel % shape[1] ? 1.0F : 0.0F;
    }
    case TermOp::poolWeights: return 1.0F / static_cast<float>(taps);
    default: return 1.0F;
    }
}

} // namespace

bool isConstant(const Term& term, const Tensor& tensor) {
    if (tensor.type() != DType::f32 || !fits(term.op, tensor.shape()))
        return false;
    const auto data = tensor.data<float>();
    for (std::size_t i = 0; i < data.size(); ++i)
        if (data[i] != elementAt(term.op, tensor.shape(), static_cast<std::int64_t>(i)))
            return false;
    return true;
}

std::optional<Tensor> constantOf(const Term& term, const Shape& shape, DType type) {
    if (!fits(term.op, shape) || elementCount(shape) > kMostElements)
        return std::nullopt;
    Tensor tensor = Tensor::zeros(DType::f32, shape);
    const auto data = tensor.mutableData<float>();
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = elementAt(term.op, shape, static_cast<std::int64_t>(i));
    return tensor.cast(type);
}

bool arePoolWeights(const Rule& rule, TermId weights) {
    const Term& term = rule.nodes[weights];
    return term.op == TermOp::poolWeights || (term.op == TermOp::scale && arePoolWeights(rule, term.inputs[0]));
}

bool kernelsAreWeights(const Rule& rule) {
    std::vector<bool> isKernel; // by node
    for (const Term& term : rule.nodes) {
        const auto readsKernel = [&](std::size_t i) { return term.op != TermOp::input && term.inputs[i] < isKernel.size() && isKernel[term.inputs[i]]; };
        const bool anyKernel = readsKernel(0) || readsKernel(1);
        isKernel.push_back(false);
        switch (term.op) {
        case TermOp::poolWeights:
        case TermOp::convIdentity: isKernel.back() = true; break;
        case TermOp::scale:
        case TermOp::add:
        case TermOp::concat: isKernel.back() = anyKernel; break;
        case TermOp::conv:
        case TermOp::convRelu:
            if (readsKernel(0))
                return false;
            break;
        default:
            if (anyKernel)
                return false;
        }
    }
    return true;
}

std::optional<ConvWindow> windowOfPool(const Node& pool) {
    const auto kernel = pool.intsAttr("kernel_shape"), strides = pool.intsAttr("strides"), pads = pool.intsAttr("pads"), dilations = pool.intsAttr("dilations");
    if (kernel.size() != 2 || strides.size() != 2 || pads.size() != 4 || pool.intAttr("ceil_mode", 0) != 0)
        return std::nullopt;
    ConvWindow window;
    for (std::size_t d = 0; d < 2; ++d) {
        window.strides[d] = strides[d];
        window.dilations[d] = dilations.size() == 2 ? dilations[d] : 1;
        const std::int64_t reach = (kernel[d] - 1) * window.dilations[d];
        window.begin[d] = pads[d] - reach / 2;
        window.end[d] = pads[d + 2] - (reach - reach / 2);
    }
    return window;
}

OperatorNo averagePoolOperator(OperatorTable& table, const ConvWindow& window, const Shape& weights) {
    std::vector<std::int64_t> kernel, strides, pads(4);
    for (std::size_t d = 0; d < 2; ++d) {
        const std::int64_t reach = weights[d + 2] - 1;
        kernel.push_back(weights[d + 2]);
        strides.push_back(window.strides[d]);
        pads[d] = window.begin[d] + reach / 2;
        pads[d + 2] = window.end[d] + (reach - reach / 2);
        if (window.dilations[d] != 1 || pads[d] < 0 || pads[d + 2] < 0 || pads[d] > reach || pads[d + 2] > reach)
            return kNone;
    }
    return table.add("AveragePool", {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"count_include_pad", std::int64_t(1)}});
}

} // namespace tunesmith::rewrite
