// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/contrib.h"

// Gelu, BiasGelu, FastGelu, QuickGelu and BiasSplitGelu: functions of x + bias, where a bias is one value per
// index of the last dimension.
namespace tunesmith::ops {
namespace {

using Curve = double (*)(double x, double alpha);

double exactGelu(double x, double) {
    return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
}

// The constants are those of the operator's definition: sqrt(2 / pi) and that times 0.044715.
double fastGelu(double x, double) {
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * x + 0.035677408136300125 * x * x * x));
}

double quickGelu(double x, double alpha) {
    return x / (1 + std::exp(-alpha * x));
}

constexpr float kQuickAlpha = 1.702F;

Status inferBiased(InferContext& in) {
    TS_TRY(inferFloatUnary(in));
    if (!in.has(1))
        return {};
    TS_TRY(requireSameType(in, 0, 1));
    if (in.type(0).dims && in.type(0).dims->empty())
        return in.error("input 0 is a scalar, to which no bias can be added");
    return in.type(0).dims ? requireDims(in, 1, {in.type(0).dims->back()},
                                         "one bias for each index of the last dimension")
                           : Status();
}

// FastGelu adds whatever broadcasts.
Status inferFastGelu(InferContext& in) {
    TS_TRY(inferFloatUnary(in));
    if (!in.has(1))
        return {};
    TS_TRY(requireSameType(in, 0, 1));
    if (in.type(0).dims && in.type(1).dims && !broadcastsTo(*in.type(1).dims, *in.type(0).dims))
        return pairError(in, 0, 1, "do not fit: a bias must broadcast to the input");
    return {};
}

template <class T> Tensor biased(const EvalContext& context) {
    Tensor sum = Tensor::zeros(dtypeOf<T>, context.input(0).shape());
    mapBroadcast<T, T>(context.input(0), context.has(1) ? context.input(1) : Tensor::scalar(T{}), sum,
                       [](T x, T b) { return x + b; });
    return sum;
}

Kernel geluKernel(Curve curve) {
    return [curve](EvalContext& context) -> Status {
        const double alpha = context.node.floatAttr("alpha", kQuickAlpha);
        visitFloat(context.outputs[0].type(), [&](auto tag) {
            using T = decltype(tag);
            const Tensor x = biased<T>(context);
            const auto y = context.outputs[0].mutableData<T>();
            for (std::size_t i = 0; i < y.size(); ++i)
                y[i] = static_cast<T>(curve(static_cast<double>(x.data<T>()[i]), alpha));
        });
        return {};
    };
}

ValueId biasedInput(ExpandContext& context) {
    return context.has(1) ? context.add("Add", {context.node.inputs[0], context.node.inputs[1]})
                          : context.node.inputs[0];
}

ExpandRule geluAs(const std::string& approximate) {
    return [approximate](ExpandContext& context) -> Status {
        context.outputs[0] = context.add("Gelu", {biasedInput(context)}, {{"approximate", approximate}});
        return {};
    };
}

Status expandQuickGelu(ExpandContext& context) {
    const ValueId x = context.node.inputs[0];
    const float alpha = context.node.floatAttr("alpha", kQuickAlpha);
    const ValueId scaled = context.add("Mul", {x, context.number(context.type(0).dtype, alpha)});
    context.outputs[0] = context.add("Mul", {x, context.add("Sigmoid", {scaled})});
    return {};
}

// BiasSplitGelu: of x + bias, the first half of the last dimension times the Gelu of the second.
Status inferBiasSplitGelu(InferContext& in) {
    TS_TRY(inferBiased(in));
    TS_TRY(requireRank(in, 0, 3, "batch, sequence and channels"));
    if (!in.type(0).dims)
        return {};
    Dim& channels = in.outputs[0].dims->back();
    if (channels.known() && channels.extent % 2 != 0)
        return in.error("input 0 is " + in.type(0).text() + ", whose last dimension cannot be halved");
    channels = channels.known() ? Dim(channels.extent / 2) : Dim();
    return {};
}

Status evalBiasSplitGelu(EvalContext& context) {
    const std::int64_t width = context.outputs[0].shape().back();
    visitFloat(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        const Tensor sum = biased<T>(context);
        const auto x = sum.template data<T>();
        const auto y = context.outputs[0].mutableData<T>();
        for (std::int64_t i = 0; i < context.outputs[0].count(); ++i) {
            const std::int64_t at = i / width * 2 * width + i % width;
            y[i] =
                static_cast<T>(static_cast<double>(x[at]) * exactGelu(static_cast<double>(x[at + width]), 0));
        }
    });
    return {};
}

Status expandBiasSplitGelu(ExpandContext& context) {
    const std::int64_t width = context.outputType(0).shape().back();
    const ValueId sum = biasedInput(context);
    const ValueId gate = context.add("Gelu", {context.slice(sum, 2, width, 2 * width)});
    context.outputs[0] = context.add("Mul", {context.slice(sum, 2, 0, width), gate});
    return {};
}

} // namespace

void registerContribGeluFamily(OperatorList& list) {
    addExpanded(list, "Gelu", {1, 1}, inferBiased, geluKernel(exactGelu), geluAs("none"));
    addExpanded(list, "BiasGelu", {2, 2}, inferBiased, geluKernel(exactGelu), geluAs("none"));
    addExpanded(list, "FastGelu", {1, 2}, inferFastGelu, geluKernel(fastGelu), geluAs("tanh"));
    addExpanded(list, "QuickGelu", {1, 1}, inferBiased, geluKernel(quickGelu), expandQuickGelu);
    addExpanded(list, "BiasSplitGelu", {2, 2}, inferBiasSplitGelu, evalBiasSplitGelu, expandBiasSplitGelu);
}

} // namespace tunesmith::ops
