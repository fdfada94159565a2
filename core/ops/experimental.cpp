// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

// Operators that ONNX never made official and took back, but that early exporters wrote: Affine, Crop, ImageScaler,
// ParametricSoftplus, ScaledTanh. ONNX Runtime still runs them.
namespace tunesmith::ops {
namespace {

using namespace loops;

using Formula = double (*)(double x, double alpha, double beta);
using LoweredFormula = Expr (*)(const Expr& x, const Expr& alpha, const Expr& beta);

void addFormula(OperatorList& list, const char* name, const char* stage, Formula formula, LoweredFormula lowered) {
    const Kernel kernel = [formula](EvalContext& context) -> Status {
        const double alpha = context.node.floatAttr("alpha", 1), beta = context.node.floatAttr("beta", 0);
        visitFloat(context.outputs[0].type(), [&](auto tag) {
            using T = decltype(tag);
            const auto x = context.input(0).data<T>();
            const auto y = context.outputs[0].mutableData<T>();
            for (std::size_t i = 0; i < x.size(); ++i)
                y[i] = static_cast<T>(formula(static_cast<double>(x[i]), alpha, beta));
        });
        return {};
    };
    const LowerRule lower = [stage, lowered](LowerContext& context) -> Status {
        lowerElementwise(context, stage, [&](const Indices& i) {
            const Expr x = read(context.inputs[0], i);
            return lowered(x, constantOf(x->type, context.node.floatAttr("alpha", 1)),
                           constantOf(x->type, context.node.floatAttr("beta", 0)));
        });
        return {};
    };
    addOperator(list, name, Fusion::elementwise, 1, {1, 1}, inferFloatUnary, kernel, lower);
}

double softplus(double x) {
    return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}

Expr softplusOf(const Expr& x) {
    return max(x, constantOf(x->type, 0)) + unary(Op::log, constantOf(x->type, 1) + unary(Op::exp, -unary(Op::abs, x)));
}

// ImageScaler: y = scale * x + bias, with one bias for each channel of images [N, C, H, W].
Status inferImageScaler(InferContext& in) {
    TS_TRY(inferFloatUnary(in));
    const Dim channels(static_cast<std::int64_t>(in.node.floatsAttr("bias").size()));
    const auto& x = in.type(0).dims;
    if (x && (x->size() != 4 || !mergeEqual((*x)[1], channels)))
        return in.error("has " + dimText(channels) + " biases, which do not fit the images " + in.type(0).text());
    return {};
}

Status evalImageScaler(EvalContext& context) {
    const double scale = context.node.floatAttr("scale", 1);
    const std::vector<float> bias = context.node.floatsAttr("bias");
    const Shape& shape = context.input(0).shape();
    const auto pixels = static_cast<std::size_t>(shape[2] * shape[3]);
    visitFloat(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        const auto x = context.input(0).data<T>();
        for (std::size_t i = 0; i < x.size(); ++i)
            context.outputs[0].mutableData<T>()[i] =
                static_cast<T>(scale * static_cast<double>(x[i]) + static_cast<double>(bias[i / pixels % bias.size()]));
    });
    return {};
}

// Each bias is a choice within the next one.
Status imageScalerLowerable(const OpInputs& in) {
    constexpr std::size_t kMostBiases = 64;
    const std::size_t biases = in.node.floatsAttr("bias").size();
    return biases > kMostBiases ? Status(in.unsupported("it has " + std::to_string(biases) + " biases, and a kernel at most " + std::to_string(kMostBiases))) : Status();
}

Status lowerImageScaler(LowerContext& context) {
    const std::vector<float> bias = context.node.floatsAttr("bias");
    lowerElementwise(context, "image_scaler", [&](const Indices& i) {
        const Expr x = read(context.inputs[0], i);
        Expr shift = constantOf(x->type, bias.empty() ? 0 : bias.back());
        for (std::size_t c = bias.size(); c-- > 1;)
            shift = select(i[1] < Expr(static_cast<std::int64_t>(c)), constantOf(x->type, bias[c - 1]), shift);
        return x * constantOf(x->type, context.node.floatAttr("scale", 1)) + shift;
    });
    return {};
}

// Crop: images [N, C, H, W] without a border (left, top, right, bottom), or the part of `scale` (height, width) behind
// it.
struct Cut {
    std::int64_t top, left, height, width;
};
Result<Cut> cutOf(const OpInputs& in, std::int64_t height, std::int64_t width) {
    const Shape border = in.node.intsAttr("border"), scale = in.node.intsAttr("scale");
    if (border.size() != 4 || (!scale.empty() && scale.size() != 2))
        return in.error("needs a border of four numbers, and a scale of two if any");
    for (const std::int64_t number : border)
        if (number < 0 || number > (std::int64_t{1} << 40))
            return in.error("the border " + attributeText(border) + " is not possible");
    const Cut cut{border[1], border[0], scale.empty() ? height - border[1] - border[3] : scale[0],
                  scale.empty() ? width - border[0] - border[2] : scale[1]};
    if (cut.height < 0 || cut.width < 0 || cut.height > height - cut.top || cut.width > width - cut.left)
        return in.error("cannot cut that much from " + in.type(0).text());
    return cut;
}

Status inferCrop(InferContext& in) {
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    if (dims.size() != 4)
        return in.error("input " + in.type(0).text() + " must be images [N, C, H, W]");
    if (!dims[2].known() || !dims[3].known()) {
        dims[2] = dims[3] = Dim();
    } else {
        TS_ASSIGN(const Cut cut, cutOf(in, dims[2].extent, dims[3].extent));
        dims[2] = cut.height;
        dims[3] = cut.width;
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalCrop(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& x = context.input(0);
    const Shape border = context.node.intsAttr("border");
    View part{types[0].shape(), rowMajorStrides(x.shape()), 0};
    part.offset = border[1] * part.strides[2] + border[0] * part.strides[3];
    context.outputs[0] = gatherView(x, part, types[0].shape());
    return {};
}

Status lowerCrop(LowerContext& context) {
    const Shape border = context.node.intsAttr("border");
    context.finish(0, compute("crop", context.outputType(), context.outputShape(), [&](const Indices& i) {
                       return load(context.inputs[0], {i[0], i[1], i[2] + Expr(border[1]), i[3] + Expr(border[0])});
                   }));
    return {};
}

} // namespace

void registerExperimental(OperatorList& list) {
    addFormula(
        list, "Affine", "affine", [](double x, double alpha, double beta) { return alpha * x + beta; },
        [](const Expr& x, const Expr& alpha, const Expr& beta) { return alpha * x + beta; });
    addFormula(
        list, "ScaledTanh", "scaled_tanh",
        [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); },
        [](const Expr& x, const Expr& alpha, const Expr& beta) { return alpha * unary(Op::tanh, beta * x); });
    addFormula(
        list, "ParametricSoftplus", "parametric_softplus",
        [](double x, double alpha, double beta) { return alpha * softplus(beta * x); },
        [](const Expr& x, const Expr& alpha, const Expr& beta) { return alpha * softplusOf(beta * x); });
    addOperator(list, "ImageScaler", Fusion::elementwise, 1, {1, 1}, inferImageScaler, evalImageScaler,
                lowerImageScaler, imageScalerLowerable);
    addMovement(list, "Crop", Fusion::injective, 1, {1, 1}, inferCrop, evalCrop, lowerCrop);
}

} // namespace tunesmith::ops
