// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/base/scratch.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/reduction.h"
#include "core/ops/rules.h"

// Normalisations by a norm of neighbours: LRN over a window of channels, LpNormalization along one axis.
namespace tunesmith::ops {
namespace {

using namespace loops;

struct LrnAttributes {
    double alpha, beta, bias;
    std::int64_t size, before; // the window starts `before` channels ahead of its own
    explicit LrnAttributes(const Node& node)
        : alpha(node.floatAttr("alpha", 1e-4F)), beta(node.floatAttr("beta", 0.75F)), bias(node.floatAttr("bias", 1.0F)),
          size(node.intAttr("size", 1)), before((size - 1) / 2) {}
};

Status inferLrn(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    if (!in.node.has("size") || in.node.intAttr("size", 0) < 1 || in.node.intAttr("size", 0) > kMost)
        return in.error("needs the attribute size, at least 1");
    if (in.type(0).dims && in.type(0).dims->size() < 2)
        return in.error("input " + in.type(0).text() + " has no channels");
    return inferSameAsFirst(in);
}

template <class T> void localResponse(const LrnAttributes& lrn, const Shape& shape, const T* x, T* y) {
    const std::int64_t channels = shape[1], positions = rowMajorStrides(shape)[1];
    Scratch<double> sum(static_cast<std::size_t>(positions));
    for (std::int64_t plane = 0; plane < shape[0] * channels; ++plane) {
        const std::int64_t c = plane % channels;
        const std::int64_t first = std::max<std::int64_t>(c - lrn.before, 0);
        const std::int64_t last = std::min(c - lrn.before + lrn.size, channels);
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::int64_t k = first; k < last; ++k) {
            const T* const row = x + (plane - c + k) * positions;
            for (std::int64_t i = 0; i < positions; ++i)
                sum[static_cast<std::size_t>(i)] += static_cast<double>(row[i]) * static_cast<double>(row[i]);
        }
        for (std::int64_t i = 0; i < positions; ++i) {
            const double base = lrn.bias + lrn.alpha / static_cast<double>(lrn.size) * sum[static_cast<std::size_t>(i)];
            y[plane * positions + i] = static_cast<T>(static_cast<double>(x[plane * positions + i]) / std::pow(base, lrn.beta));
        }
    }
}

Status evalLrn(EvalContext& context) {
    const LrnAttributes lrn(context.node);
    const Tensor& input = context.input(0);
    if (input.count() == 0)
        return {};
    visitFloat(input.type(), [&](auto tag) {
        using T = decltype(tag);
        localResponse(lrn, input.shape(), input.data<T>().data(), context.outputs[0].mutableData<T>().data());
    });
    return {};
}

Status lowerLrn(LowerContext& context) {
    const LrnAttributes lrn(context.node);
    const TensorRef x = context.inputs[0];
    const std::int64_t channels = x->shape[1], behind = lrn.size - 1 - lrn.before;
    const TensorRef sum = context.add(reduce("lrn_sum", computeType(x->type), x->shape, Reduction::sum, {lrn.size},
                                             [&](const Indices& o, const Indices& r) {
        Indices at = o;
        at[1] = o[1] + r[0] - Expr(lrn.before);
        const Expr square = read(x, at) * read(x, at);
        Expr guard;
        if (lrn.before > 0)
            guard = at[1] >= Expr(0);
        if (behind > 0)
            guard = guard.valid() ? guard && at[1] < Expr(channels) : at[1] < Expr(channels);
        return ReductionBody{square, guard};
    }));
    lowerElementwise(context, "lrn", [&](const Indices& i) {
        const Expr scale = constantOf(sum->type, lrn.alpha / static_cast<double>(lrn.size));
        const Expr base = constantOf(sum->type, lrn.bias) + scale * load(sum, i);
        return read(x, i) / binary(Op::pow, base, constantOf(sum->type, lrn.beta));
    });
    return {};
}

std::int64_t normOf(const Node& node) { return node.intAttr("p", 2); }

Status inferLpNorm(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    if (normOf(in.node) != 1 && normOf(in.node) != 2)
        return in.error("p must be 1 or 2, not " + std::to_string(normOf(in.node)));
    if (in.type(0).dims)
        if (const auto axis = frontAxis(in, in.node.intAttr("axis", -1), in.type(0).dims->size()); !axis.ok())
            return axis.error();
    return inferSameAsFirst(in);
}

Status evalLpNorm(EvalContext& context) {
    const Tensor& input = context.input(0);
    const std::vector<std::size_t> axes{frontAxis(context.node.intAttr("axis", -1), input.rank())};
    const bool euclidean = normOf(context.node) == 2;
    std::vector<double> norm(static_cast<std::size_t>(elementCount(keptShape(input.shape(), axes))), 0.0);
    visitFloat(input.type(), [&](auto tag) {
        using T = decltype(tag);
        const T* const x = input.data<T>().data();
        foldOver(input.shape(), x, axes, norm.data(), [&](double all, T value) {
            const auto wide = static_cast<double>(value);
            return all + (euclidean ? wide * wide : std::fabs(wide));
        });
        for (double& value : norm)
            value = euclidean ? std::sqrt(value) : value;
        mapWithReduced(input.shape(), x, axes, norm.data(), context.outputs[0].mutableData<T>().data(),
                       [](T value, double size) { return size == 0 ? T{} : static_cast<T>(static_cast<double>(value) / size); });
    });
    return {};
}

Status lowerLpNorm(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const std::vector<std::size_t> axes{frontAxis(context.node.intAttr("axis", -1), x->shape.size())};
    const bool euclidean = normOf(context.node) == 2;
    const TensorRef sum = reduceOver(context, "norm_sum", computeType(x->type), Reduction::sum, x->shape, axes,
                                     [&](const Indices& i) {
                                         const Expr value = read(x, i);
                                         return euclidean ? value * value : unary(Op::abs, value);
                                     });
    lowerElementwise(context, "lp_norm", [&](const Indices& i) {
        const Expr norm = readReduced(sum, i, axes), isZero = cast(norm->type, equal(norm, constantOf(norm->type, 0)));
        return read(x, i) / ((euclidean ? unary(Op::sqrt, norm) : norm) + isZero); // zeros stay zeros
    });
    return {};
}

} // namespace

void registerLocalNorm(OperatorList& list) {
    addOperator(list, "LRN", Fusion::anchor, 1, {1, 1}, inferLrn, evalLrn, lowerLrn);
    addOperator(list, "LpNormalization", Fusion::anchor, 1, {1, 1}, inferLpNorm, evalLpNorm, lowerLpNorm);
}

} // namespace tunesmith::ops
