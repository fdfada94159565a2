// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <numeric>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/contrib.h"
#include "core/ops/contrib/fused_activation.h"
#include "core/ops/matmul.h"

// FusedConv: activation(convolution + bias + Z). FusedGemm: activation(gemm). FusedMatMul (TransposeMatMul):
// alpha * A' * B', where ' moves the first dimension behind the other batch dimensions (transBatch) and then
// swaps the last two (trans).
namespace tunesmith::ops {
namespace {

using Axes64 = std::vector<std::int64_t>;

Error activationError(const OpInputs& in, const Error& error) {
    return error.kind == ErrorKind::unsupported ? in.unsupported(error.message) : in.error(error.message);
}

std::map<std::string, Attribute> withoutActivation(const Node& node) {
    return attributesWithout(
        node, {"activation", "activation_params", "activation_alpha", "activation_beta", "activation_gamma"});
}

void activate(Tensor& y, const FusedActivation& activation) {
    visitFloat(y.type(), [&](auto tag) {
        using T = decltype(tag);
        for (T& value : y.mutableData<T>())
            value = static_cast<T>(activation(static_cast<double>(value)));
    });
}

constexpr std::size_t kConvInputs = 3, kSummand = 3;

Status inferFusedConv(InferContext& in) {
    TS_TRY(inferAs(in, "Conv", kConvInputs));
    if (const auto activation = FusedActivation::ofConv(in.node); !activation.ok())
        return activationError(in, activation.error());
    if (!in.has(kSummand))
        return {};
    TS_TRY(requireSameType(in, 0, kSummand));
    return in.outputs[0].dims
               ? requireDims(in, kSummand, *in.outputs[0].dims, "it is added to the convolution")
               : Status();
}

Status evalFusedConv(EvalContext& context) {
    TS_TRY(evalAs(context, "Conv", kConvInputs));
    Tensor& y = context.outputs[0];
    if (context.has(kSummand))
        visitFloat(y.type(), [&](auto tag) {
            using T = decltype(tag);
            mapBroadcast<T, T>(y, context.input(kSummand), y, [](T a, T b) { return a + b; });
        });
    TS_ASSIGN(const FusedActivation activation, FusedActivation::ofConv(context.node));
    activate(y, activation);
    return {};
}

Status expandFusedConv(ExpandContext& context) {
    TS_ASSIGN(const FusedActivation activation, FusedActivation::ofConv(context.node));
    std::vector<ValueId> inputs = context.node.inputs;
    inputs.resize(std::min(inputs.size(), kConvInputs));
    ValueId y = context.add("Conv", inputs, withoutActivation(context.node));
    if (context.has(kSummand))
        y = context.add("Add", {y, context.node.inputs[kSummand]});
    context.outputs[0] = activation.addTo(context, y, context.type(0).dtype);
    return {};
}

Status inferFusedGemm(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    if (const auto activation = FusedActivation::ofGemm(in.node); !activation.ok())
        return activationError(in, activation.error());
    return inferAs(in, "Gemm", in.count());
}

Status evalFusedGemm(EvalContext& context) {
    TS_TRY(evalAs(context, "Gemm", context.inputs.size()));
    TS_ASSIGN(const FusedActivation activation, FusedActivation::ofGemm(context.node));
    activate(context.outputs[0], activation);
    return {};
}

Status expandFusedGemm(ExpandContext& context) {
    TS_ASSIGN(const FusedActivation activation, FusedActivation::ofGemm(context.node));
    const ValueId y = context.add("Gemm", context.node.inputs, withoutActivation(context.node));
    context.outputs[0] = activation.addTo(context, y, context.type(0).dtype);
    return {};
}

// The order of an operand's dimensions before it is multiplied. A vector stays one.
Axes64 operandOrder(const Node& node, std::size_t rank, const char* trans, const char* transBatch) {
    Axes64 order(rank);
    std::iota(order.begin(), order.end(), 0);
    if (rank < 2)
        return order;
    if (node.intAttr(transBatch, 0) != 0)
        std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
    if (node.intAttr(trans, 0) != 0)
        std::swap(order[rank - 2], order[rank - 1]);
    return order;
}

Axes64 orderOf(const Node& node, std::size_t operand, std::size_t rank) {
    return operand == 0 ? operandOrder(node, rank, "transA", "transBatchA")
                        : operandOrder(node, rank, "transB", "transBatchB");
}

Dims reordered(const Dims& extents, const Axes64& order) {
    Dims result;
    for (const std::int64_t axis : order)
        result.push_back(extents[static_cast<std::size_t>(axis)]);
    return result;
}

Status inferFusedMatMul(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireSameType(in, 0, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < 2; ++i) {
        types.push_back(in.type(i));
        if (types[i].dims)
            types[i].dims = reordered(*types[i].dims, orderOf(in.node, i, types[i].dims->size()));
    }
    const OpInputs seen(in.node, in.opset, std::move(types), std::vector<Tensor>(2));
    TS_ASSIGN(in.outputs[0].dims, matMulDims(seen, 0, 1));
    return {};
}

Tensor reorderedOperand(const EvalContext& context, std::size_t operand) {
    const Tensor& x = context.input(operand);
    return permuted(x, orderOf(context.node, operand, x.rank()));
}

Status evalFusedMatMul(EvalContext& context) {
    const Tensor a = reorderedOperand(context, 0), b = reorderedOperand(context, 1);
    Tensor& out = context.outputs[0];
    const MatMulShape s(a.shape(), b.shape(), out.shape());
    const double alpha = context.node.floatAttr("alpha", 1);
    visitFloat(out.type(), [&](auto tag) {
        using T = decltype(tag);
        const T *const x = a.data<T>().data(), *const w = b.data<T>().data();
        T* const y = out.mutableData<T>().data();
        forEachProduct(s, [&](std::int64_t atA, std::int64_t atB, std::int64_t atY) {
            for (std::int64_t i = 0; i < s.m * s.n; ++i) {
                double sum = 0;
                for (std::int64_t k = 0; k < s.k; ++k)
                    sum += static_cast<double>(x[atA + i / s.n * s.k + k]) *
                           static_cast<double>(w[atB + k * s.n + i % s.n]);
                y[atY + i] = static_cast<T>(alpha * sum);
            }
        });
    });
    return {};
}

Status expandFusedMatMul(ExpandContext& context) {
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < 2; ++i) {
        const Axes64 order = orderOf(context.node, i, context.type(i).dims->size());
        const ValueId x = context.node.inputs[i];
        operands.push_back(std::ranges::is_sorted(order) ? x : context.transpose(x, order));
    }
    const float alpha = context.node.floatAttr("alpha", 1);
    const ValueId y = context.add("MatMul", operands);
    context.outputs[0] =
        alpha == 1 ? y : context.add("Mul", {y, context.number(context.type(0).dtype, alpha)});
    return {};
}

} // namespace

void registerContribFusedProducts(OperatorList& list) {
    addExpanded(list, "FusedConv", {2, 4}, inferFusedConv, evalFusedConv, expandFusedConv);
    addExpanded(list, "FusedGemm", {2, 3}, inferFusedGemm, evalFusedGemm, expandFusedGemm);
    for (const char* name : {"FusedMatMul", "TransposeMatMul"})
        addExpanded(list, name, {2, 2}, inferFusedMatMul, evalFusedMatMul, expandFusedMatMul);
}

} // namespace tunesmith::ops
