// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/scratch.h"
#include "core/ops/broadcast.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/reduction.h"
#include "core/ops/rules.h"

// Normalisations by mean and variance over some axes: of an image's channel (Instance) or several (Group), of the last axes
// (Layer), of chosen axes (MeanVariance). Variances are the mean of squared distances from the mean.
namespace tunesmith::ops {
namespace {

using namespace loops;
using Axes = std::vector<std::size_t>;

double epsilonOf(const Node& node) { return node.floatAttr("epsilon", 1e-5F); }

struct Moments {
    Scratch<double> mean, variance;
};

template <class T> Moments momentsOf(const Shape& shape, const T* x, const Axes& axes) {
    const auto rows = static_cast<std::size_t>(elementCount(keptShape(shape, axes)));
    const auto count = static_cast<double>(countOver(shape, axes));
    Moments moments{Scratch<double>(rows), Scratch<double>(rows)};
    foldOver(shape, x, axes, moments.mean.data(), [](double all, T value) { return all + static_cast<double>(value); });
    for (double& mean : moments.mean)
        mean /= count;
    Scratch<double> squares(static_cast<std::size_t>(elementCount(shape)));
    mapWithReduced(shape, x, axes, moments.mean.data(), squares.data(), [](T value, double mean) {
        const double distance = static_cast<double>(value) - mean;
        return distance * distance;
    });
    foldOver(shape, squares.data(), axes, moments.variance.data(), [](double all, double value) { return all + value; });
    for (double& variance : moments.variance)
        variance /= count;
    return moments;
}

// y = (x - mean) / spread(variance).
template <class T, class Spread>
Moments normalise(const Tensor& input, const Axes& axes, Tensor& out, Spread spread) {
    const T* const x = input.data<T>().data();
    T* const y = out.mutableData<T>().data();
    Moments moments = momentsOf(input.shape(), x, axes);
    Scratch<double> factor;
    for (const double variance : moments.variance)
        factor.push_back(1 / spread(variance));
    Scratch<double> centred(static_cast<std::size_t>(input.count()));
    mapWithReduced(input.shape(), x, axes, moments.mean.data(), centred.data(),
                   [](T value, double mean) { return static_cast<double>(value) - mean; });
    mapWithReduced(input.shape(), centred.data(), axes, factor.data(), y,
                   [](double value, double scale) { return static_cast<T>(value * scale); });
    return moments;
}

template <class T> void scaleAndShift(Tensor& y, const Tensor& scale, const Tensor& bias) {
    mapBroadcast<T, T>(y, scale, y, [](T a, T b) { return a * b; });
    if (!bias.absent())
        mapBroadcast<T, T>(y, bias, y, [](T a, T b) { return a + b; });
}

struct LoweredMoments {
    TensorRef mean, variance; // as sums are divided: with extents of 1 at the reduced axes
};

LoweredMoments lowerMoments(LowerContext& context, const TensorRef& x, const Axes& axes) {
    const DType type = computeType(x->type);
    const Expr inverse = constantOf(type, 1.0 / static_cast<double>(countOver(x->shape, axes)));
    const auto scaled = [&](const char* name, const TensorRef& sum) {
        return context.add(compute(name, type, sum->shape, [&](const Indices& i) { return load(sum, i) * inverse; }));
    };
    LoweredMoments moments;
    moments.mean = scaled("mean", reduceOver(context, "mean_sum", type, Reduction::sum, x->shape, axes,
                                             [&](const Indices& i) { return read(x, i); }));
    moments.variance =
        scaled("variance", reduceOver(context, "variance_sum", type, Reduction::sum, x->shape, axes, [&](const Indices& i) {
                   const Expr distance = read(x, i) - readReduced(moments.mean, i, axes);
                   return distance * distance;
               }));
    return moments;
}

Expr normalised(const TensorRef& x, const Indices& i, const LoweredMoments& moments, const Axes& axes, double epsilon) {
    const Expr variance = readReduced(moments.variance, i, axes);
    const Expr spread = unary(Op::sqrt, variance + constantOf(variance->type, epsilon));
    return (read(x, i) - readReduced(moments.mean, i, axes)) / spread;
}

// InstanceNormalization: x [N, C, ...], scale and bias [C].
Axes axesFrom(std::size_t first, std::size_t rank) {
    Axes axes(rank - first);
    std::iota(axes.begin(), axes.end(), first);
    return axes;
}

Status inferInstanceNorm(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(inferSameAsFirst(in));
    for (std::size_t i = 1; i < 3; ++i) {
        TS_TRY(requireSameType(in, 0, i));
        if (!in.type(0).dims || !in.type(i).dims)
            continue;
        if (in.type(0).dims->size() < 3)
            return in.error("input " + in.type(0).text() + " has no spatial dimensions");
        if (in.type(i).dims->size() != 1 || !mergeEqual((*in.type(i).dims)[0], (*in.type(0).dims)[1]))
            return pairError(in, 0, i, "do not fit: one value per channel is needed");
    }
    return {};
}

// A vector per channel as a tensor that broadcasts to a rank.
Tensor perChannel(const Tensor& values, std::size_t rank) {
    Shape shape(rank - 1, 1);
    shape[0] = values.count();
    return values.reshaped(shape);
}

Status evalInstanceNorm(EvalContext& context) {
    const Tensor& input = context.input(0);
    const double epsilon = epsilonOf(context.node);
    visitFloat(input.type(), [&](auto tag) {
        using T = decltype(tag);
        normalise<T>(input, axesFrom(2, input.rank()), context.outputs[0],
                     [&](double variance) { return std::sqrt(variance + epsilon); });
        scaleAndShift<T>(context.outputs[0], perChannel(context.input(1), input.rank()),
                         perChannel(context.input(2), input.rank()));
    });
    return {};
}

Status lowerInstanceNorm(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const Axes axes = axesFrom(2, x->shape.size());
    const LoweredMoments moments = lowerMoments(context, x, axes);
    lowerElementwise(context, "instance_norm", [&](const Indices& i) {
        return normalised(x, i, moments, axes, epsilonOf(context.node)) * read(context.inputs[1], {i[1]}) +
               read(context.inputs[2], {i[1]});
    });
    return {};
}

// LayerNormalization: scale and bias broadcast to x; optional outputs are the mean and 1 / standard deviation.
Status inferLayerNorm(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(inferSameAsFirst(in));
    const auto& x = in.type(0).dims;
    Dims kept;
    if (x) {
        TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", -1), x->size()));
        kept = *x;
        std::fill(kept.begin() + static_cast<std::ptrdiff_t>(axis), kept.end(), Dim(1));
    }
    for (std::size_t i = 1; i < in.count(); ++i)
        if (in.has(i)) {
            TS_TRY(requireSameType(in, 0, i));
            if (x && in.type(i).dims && !broadcastsTo(*in.type(i).dims, *x))
                return pairError(in, 0, i, "do not fit: scale and bias must broadcast to the input");
        }
    for (std::size_t i = 1; i < in.outputs.size(); ++i) {
        in.outputs[i] = TensorType(in.type(0).dtype == DType::f64 ? DType::f64 : DType::f32);
        if (x)
            in.outputs[i].dims = kept;
    }
    return {};
}

Status evalLayerNorm(EvalContext& context) {
    const Tensor& input = context.input(0);
    const Axes axes = axesFrom(frontAxis(context.node.intAttr("axis", -1), input.rank()), input.rank());
    const double epsilon = epsilonOf(context.node);
    visitFloat(input.type(), [&](auto tag) {
        using T = decltype(tag);
        const Moments moments = normalise<T>(input, axes, context.outputs[0],
                                             [&](double variance) { return std::sqrt(variance + epsilon); });
        scaleAndShift<T>(context.outputs[0], context.input(1), context.has(2) ? context.input(2) : Tensor());
        for (std::size_t i = 0; i < moments.mean.size(); ++i) {
            if (context.wanted(1))
                context.outputs[1].mutableData<T>()[i] = static_cast<T>(moments.mean[i]);
            if (context.wanted(2))
                context.outputs[2].mutableData<T>()[i] = static_cast<T>(1 / std::sqrt(moments.variance[i] + epsilon));
        }
    });
    return {};
}

Status lowerLayerNorm(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const Axes axes = axesFrom(frontAxis(context.node.intAttr("axis", -1), x->shape.size()), x->shape.size());
    const double epsilon = epsilonOf(context.node);
    const LoweredMoments moments = lowerMoments(context, x, axes);
    if (context.outputs.size() > 1)
        context.outputs[1] = moments.mean;
    if (context.outputs.size() > 2)
        context.finish(2, compute("inverse_deviation", moments.variance->type, moments.variance->shape, [&](const Indices& i) {
            const Expr variance = load(moments.variance, i);
            return constantOf(variance->type, 1) / unary(Op::sqrt, variance + constantOf(variance->type, epsilon));
        }));
    lowerElementwise(context, "layer_norm", [&](const Indices& i) {
        const Expr scaled = normalised(x, i, moments, axes, epsilon) * operand(context, 1, i);
        return context.has(2) ? scaled + operand(context, 2, i) : scaled;
    });
    return {};
}

// GroupNormalization: moments over the spatial positions of groups of channels. Scale and bias have one value per group
// until opset 20 and one per channel since.
bool scalesGroups(std::int64_t opset) { return opset < 21; }

Status inferGroupNorm(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(inferSameAsFirst(in));
    const std::int64_t groups = in.node.intAttr("num_groups", 0);
    if (groups < 1)
        return in.error("needs the attribute num_groups, at least 1");
    const auto& x = in.type(0).dims;
    if (x && (x->size() < 2 || ((*x)[1].known() && (*x)[1].extent % groups != 0)))
        return in.error("the channels of " + in.type(0).text() + " cannot be split into " + std::to_string(groups) +
                        " groups");
    for (std::size_t i = 1; i < 3; ++i) {
        TS_TRY(requireSameType(in, 0, i));
        const Dim wanted = scalesGroups(in.opset) ? Dim(groups) : x ? (*x)[1] : Dim();
        if (in.type(i).dims && (in.type(i).dims->size() != 1 || !mergeEqual(in.type(i).dims->front(), wanted)))
            return in.error("input " + in.type(i).text() + " must have one value per " +
                            (scalesGroups(in.opset) ? "group" : "channel"));
    }
    return {};
}

template <class T> void normaliseGroups(EvalContext& context) {
    const Tensor& input = context.input(0);
    const std::int64_t groups = context.node.intAttr("num_groups", 1), channels = input.shape()[1];
    const std::int64_t positions = elementCount(std::span(input.shape()).subspan(2));
    const Tensor grouped = input.reshaped({input.shape()[0], groups, channels / groups * positions});
    Tensor y = Tensor::zeros(input.type(), grouped.shape());
    const double epsilon = epsilonOf(context.node);
    normalise<T>(grouped, {2}, y, [&](double variance) { return std::sqrt(variance + epsilon); });
    const std::int64_t slices = scalesGroups(context.opset) ? groups : channels;
    Tensor sliced = y.reshaped({input.shape()[0], slices, slices > 0 ? channels / slices * positions : 0});
    scaleAndShift<T>(sliced, context.input(1).reshaped({slices, 1}), context.input(2).reshaped({slices, 1}));
    context.outputs[0] = sliced.reshaped(input.shape());
}

Status evalGroupNorm(EvalContext& context) {
    if (context.input(0).count() > 0)
        visitFloat(context.input(0).type(), [&](auto tag) { normaliseGroups<decltype(tag)>(context); });
    return {};
}

Status lowerGroupNorm(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const DType type = computeType(x->type);
    const std::int64_t groups = context.node.intAttr("num_groups", 1), inGroup = x->shape[1] / groups;
    Shape extents(x->shape.begin() + 1, x->shape.end());
    extents[0] = inGroup;
    const Expr inverse = constantOf(type, 1.0 / static_cast<double>(std::max<std::int64_t>(elementCount(extents), 1)));
    using Term = std::function<Expr(const Indices& at, const Indices& group)>;
    const auto mean = [&](const char* sum, const char* name, const Term& body) {
        const TensorRef all = context.add(reduce(sum, type, {x->shape[0], groups}, Reduction::sum, extents,
                                                 [&](const Indices& o, const Indices& r) {
            Indices at{o[0], o[1] * Expr(inGroup) + r[0]};
            at.insert(at.end(), r.begin() + 1, r.end());
            return ReductionBody{body(at, o), {}};
        }));
        return context.add(compute(name, type, all->shape, [&](const Indices& i) { return load(all, i) * inverse; }));
    };
    const TensorRef means = mean("mean_sum", "mean", [&](const Indices& at, const Indices&) { return read(x, at); });
    const TensorRef variances = mean("variance_sum", "variance", [&](const Indices& at, const Indices& group) {
        const Expr distance = read(x, at) - load(means, group);
        return distance * distance;
    });
    lowerElementwise(context, "group_norm", [&](const Indices& i) {
        const Indices group{i[0], i[1] / Expr(inGroup)};
        const Expr slice = scalesGroups(context.opset) ? group[1] : i[1];
        const Expr spread = unary(Op::sqrt, load(variances, group) + constantOf(type, epsilonOf(context.node)));
        const Expr normal = (read(x, i) - load(means, group)) / spread;
        return normal * read(context.inputs[1], {slice}) + read(context.inputs[2], {slice});
    });
    return {};
}

// MeanVarianceNormalization, whose formula in ONNX adds 1e-9 to the standard deviation.
constexpr double kMvnEpsilon = 1e-9;

// Before opset 9 each image stands for itself, and its channels do or do not.
std::vector<std::int64_t> statedMvnAxes(const Node& node, std::size_t rank, std::int64_t opset) {
    if (opset >= 9 || node.has("axes"))
        return node.intsAttr("axes", {0, 2, 3});
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = node.intAttr("across_channels", 0) != 0 ? 1 : 2; axis < static_cast<std::int64_t>(rank); ++axis)
        axes.push_back(axis);
    return axes;
}

Axes mvnAxes(const Node& node, std::size_t rank, std::int64_t opset) {
    Axes axes;
    for (const std::int64_t axis : statedMvnAxes(node, rank, opset))
        axes.push_back(frontAxis(axis, rank));
    std::sort(axes.begin(), axes.end());
    return axes;
}

Status inferMvn(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(inferSameAsFirst(in));
    if (!in.type(0).dims)
        return {};
    const std::size_t rank = in.type(0).dims->size();
    if (in.opset < 9 && in.node.intAttr("normalize_variance", 1) == 0)
        return in.unsupported("it leaves the variance as it is");
    for (const std::int64_t axis : statedMvnAxes(in.node, rank, in.opset))
        if (const auto front = frontAxis(in, axis, rank); !front.ok())
            return front.error();
    const Axes axes = mvnAxes(in.node, rank, in.opset);
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
        return in.error("axes name an axis twice");
    return {};
}

Status evalMvn(EvalContext& context) {
    const Tensor& input = context.input(0);
    visitFloat(input.type(), [&](auto tag) {
        normalise<decltype(tag)>(input, mvnAxes(context.node, input.rank(), context.opset), context.outputs[0],
                                 [](double variance) { return std::sqrt(variance) + kMvnEpsilon; });
    });
    return {};
}

Status lowerMvn(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const Axes axes = mvnAxes(context.node, x->shape.size(), context.opset);
    const LoweredMoments moments = lowerMoments(context, x, axes);
    lowerElementwise(context, "mean_variance_norm", [&](const Indices& i) {
        const Expr deviation = unary(Op::sqrt, readReduced(moments.variance, i, axes));
        return (read(x, i) - readReduced(moments.mean, i, axes)) / (deviation + constantOf(deviation->type, kMvnEpsilon));
    });
    return {};
}

} // namespace

void registerNormalization(OperatorList& list) {
    addOperator(list, "InstanceNormalization", Fusion::anchor, 6, {3, 3}, inferInstanceNorm, evalInstanceNorm,
                lowerInstanceNorm);
    addOperator(list, "LayerNormalization", Fusion::anchor, 17, {2, 3, 3}, inferLayerNorm, evalLayerNorm, lowerLayerNorm);
    addOperator(list, "GroupNormalization", Fusion::anchor, 18, {3, 3}, inferGroupNorm, evalGroupNorm, lowerGroupNorm);
    addOperator(list, "MeanVarianceNormalization", Fusion::anchor, 9, {1, 1}, inferMvn, evalMvn, lowerMvn);
}

} // namespace tunesmith::ops
