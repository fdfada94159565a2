// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/ops/contrib/contrib.h"
#include "core/ops/lowering.h"
#include "core/ops/reduction.h"

// SimplifiedLayerNormalization: y = x / sqrt(mean(x * x) + epsilon) * scale over the axes from `axis` to the
// last; output 1 is the factor of x. ONNX Runtime put it into ONNX's own domain, where opset 23 has the same without
// that output as RMSNormalization.
namespace tunesmith::ops {
namespace {

using namespace loops;

std::vector<std::size_t> rmsAxes(const Node& node, std::size_t rank) {
    const std::size_t first = frontAxis(node.intAttr("axis", -1), rank);
    std::vector<std::size_t> axes(rank - first);
    std::iota(axes.begin(), axes.end(), first);
    return axes;
}

Status inferSimplifiedNorm(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireFloat(in, 1));
    in.outputs[0] = TensorType(in.type(1).dtype);
    in.outputs[0].dims = in.type(0).dims;
    if (in.outputs.size() > 1)
        in.outputs[1] = TensorType(statisticType(in.type(0).dtype));
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", -1), x.size()));
    if (in.type(1).dims && !broadcastsTo(*in.type(1).dims, x))
        return pairError(in, 0, 1, "do not fit: the scale must broadcast to the input");
    if (in.outputs.size() > 1) {
        Dims kept = x;
        std::fill(kept.begin() + static_cast<std::ptrdiff_t>(axis), kept.end(), Dim(1));
        in.outputs[1].dims = kept;
    }
    return {};
}

Status evalSimplifiedNorm(EvalContext& context) {
    const Tensor x = context.input(0).cast(DType::f64);
    const auto axes = rmsAxes(context.node, x.rank());
    Tensor factor = Tensor::zeros(DType::f64, keptShape(x.shape(), axes)),
           y = Tensor::zeros(DType::f64, x.shape());
    const auto factors = factor.mutableData<double>();
    foldOver(x.shape(), x.data<double>().data(), axes, factors.data(),
             [](double all, double value) { return all + value * value; });
    const auto count = static_cast<double>(countOver(x.shape(), axes));
    for (double& value : factors)
        value = 1 / std::sqrt(value / count + static_cast<double>(context.node.floatAttr("epsilon", 1e-5F)));
    mapBroadcast<double, double>(x, factor, y, [](double a, double b) { return a * b; });
    mapBroadcast<double, double>(y, context.input(1).cast(DType::f64), y,
                                 [](double a, double b) { return a * b; });
    context.outputs[0] = y.cast(context.outputs[0].type());
    if (context.wanted(1))
        context.outputs[1] = factor.cast(context.outputs[1].type());
    return {};
}

Status lowerSimplifiedNorm(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const DType type = computeType(x->type);
    const auto axes = rmsAxes(context.node, x->shape.size());
    const TensorRef sum =
        reduceOver(context, "square_sum", type, Reduction::sum, x->shape, axes, [&](const Indices& i) {
            const Expr value = read(x, i);
            return value * value;
        });
    const Expr share = constantOf(type, 1.0 / static_cast<double>(countOver(x->shape, axes)));
    const Expr epsilon = constantOf(type, context.node.floatAttr("epsilon", 1e-5F));
    const TensorRef factor = context.add(compute("inverse_root", type, sum->shape, [&](const Indices& i) {
        return constantOf(type, 1) / unary(Op::sqrt, load(sum, i) * share + epsilon);
    }));
    if (context.outputs.size() > 1)
        context.outputs[1] = factor;
    lowerElementwise(context, "rms_norm", [&](const Indices& i) {
        const Expr normal = read(x, i) * readReduced(factor, i, axes), scale = operand(context, 1, i);
        return scale->type == type ? normal * scale : cast(scale->type, normal) * scale;
    });
    return {};
}

} // namespace

void registerContribRootMeanSquare(OperatorList& list) {
    addOperator(list, "SimplifiedLayerNormalization", Fusion::anchor, 1, {2, 2, 2}, inferSimplifiedNorm,
                evalSimplifiedNorm, lowerSimplifiedNorm);
    addOperator(list, "RMSNormalization", Fusion::anchor, 23, {2, 2}, inferSimplifiedNorm, evalSimplifiedNorm,
                lowerSimplifiedNorm);
}

} // namespace tunesmith::ops
