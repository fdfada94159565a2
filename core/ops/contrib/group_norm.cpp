// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/channels_last.h"

// GroupNorm and SkipGroupNorm: a norm over the positions and channels of each group, a factor and a bias for
// each channel, and SiLU behind them if activation is 1. Images have their channels last unless channels_last
// is 0. SkipGroupNorm first adds skip [N, C], [N, 1, 1, C] or like x, and a bias [C]; output 1 is that sum.
// BiasAdd is x + bias + skip.
namespace tunesmith::ops {
namespace {

enum GroupNormInput : std::size_t { kNormed, kGroupGamma, kGroupBeta, kGroupSkip, kGroupSkipBias };

bool imagesHaveChannelsLast(const Node& node) {
    return node.intAttr("channels_last", 1) != 0;
}
std::size_t channelAxis(const Node& node, std::size_t rank) {
    return imagesHaveChannelsLast(node) ? rank - 1 : 1;
}

Status checkGroups(const OpInputs& in, const Dim& channels) {
    const std::int64_t groups = in.node.intAttr("groups", 0), activation = in.node.intAttr("activation", 0);
    if (groups < 1 || (channels.known() && channels.extent % groups != 0))
        return in.error("groups is " + std::to_string(groups) + ", but must divide the " + dimText(channels) +
                        " channels");
    if (activation != 0 && activation != 1)
        return in.error("activation must be 0 (none) or 1 (SiLU), not " + std::to_string(activation));
    for (const std::size_t i : {kGroupGamma, kGroupBeta, kGroupSkipBias})
        TS_TRY(requireDims(in, i, {channels}, "one number for each channel"));
    return {};
}

Status checkSkip(const OpInputs& in, const Dims& x, const Dim& channels) {
    if (!in.has(kGroupSkip) || !in.type(kGroupSkip).dims)
        return {};
    const Dims& skip = *in.type(kGroupSkip).dims;
    if (skip.size() == 2)
        return requireDims(in, kGroupSkip, {x[0], channels}, "one number for each channel of an image");
    Dims single(x.size(), Dim(1));
    single[0] = x[0];
    single[channelAxis(in.node, x.size())] = channels;
    bool one = skip.size() == x.size();
    for (std::size_t d = 0; one && d < x.size(); ++d)
        one = mergeEqual(skip[d], single[d]).has_value();
    return one ? Status()
               : requireDims(in, kGroupSkip, x, "like the images, or one number for each of their channels");
}

Status inferGroupNorm(InferContext& in) {
    TS_TRY(requireInputs(in, {kNormed, kGroupGamma, kGroupBeta}));
    for (std::size_t i = 0; i < in.count(); ++i)
        if (in.has(i))
            TS_TRY(requireFloat(in, i));
    for (TensorType& output : in.outputs)
        output = in.type(kNormed);
    if (!in.type(kNormed).dims)
        return {};
    const Dims& x = *in.type(kNormed).dims;
    if (x.size() < 3)
        return in.error("input 0 is " + in.type(kNormed).text() +
                        " but must have batch, positions and channels");
    const Dim channels = x[channelAxis(in.node, x.size())];
    TS_TRY(checkGroups(in, channels));
    return checkSkip(in, x, channels);
}

// Finds channel c of position p of image n.
struct Images {
    std::int64_t batch, channels, positions;
    bool last;
    Images(const Node& node, const Shape& x)
        : batch(x[0]), channels(x[channelAxis(node, x.size())]), positions(0),
          last(imagesHaveChannelsLast(node)) {
        positions = elementCount(std::span(x).subspan(1)) / std::max<std::int64_t>(channels, 1);
    }
    std::int64_t at(std::int64_t n, std::int64_t c, std::int64_t p) const {
        return n * channels * positions + (last ? p * channels + c : c * positions + p);
    }
};

Tensor withSkip(const EvalContext& context, const Images& images) {
    const Tensor given = context.input(kNormed).cast(DType::f64);
    if (!context.has(kGroupSkip))
        return given;
    Tensor x = Tensor::zeros(DType::f64, given.shape());
    const Tensor& skip = context.input(kGroupSkip);
    const bool whole = skip.count() == x.count();
    for (std::int64_t n = 0; n < images.batch; ++n)
        for (std::int64_t c = 0; c < images.channels; ++c)
            for (std::int64_t p = 0; p < images.positions; ++p) {
                const std::int64_t at = images.at(n, c, p);
                const double bias =
                    context.has(kGroupSkipBias) ? context.input(kGroupSkipBias).asDouble(c) : 0;
                x.mutableData<double>()[at] =
                    given.data<double>()[at] + skip.asDouble(whole ? at : n * images.channels + c) + bias;
            }
    return x;
}

void normalizeGroup(const EvalContext& context, const Images& images, std::int64_t n, std::int64_t first,
                    std::int64_t count, const Tensor& x, Tensor& y) {
    const auto all = static_cast<double>(count * images.positions);
    const auto each = [&](auto visit) {
        for (std::int64_t c = first; c < first + count; ++c)
            for (std::int64_t p = 0; p < images.positions; ++p)
                visit(images.at(n, c, p), c);
    };
    double mean = 0, variance = 0;
    each([&](std::int64_t at, std::int64_t) { mean += x.data<double>()[at] / all; });
    each([&](std::int64_t at, std::int64_t) {
        variance += (x.data<double>()[at] - mean) * (x.data<double>()[at] - mean) / all;
    });
    const double epsilon = context.node.floatAttr("epsilon", 1e-5F);
    each([&](std::int64_t at, std::int64_t c) {
        const double normal = (x.data<double>()[at] - mean) / std::sqrt(variance + epsilon);
        const double value =
            normal * context.input(kGroupGamma).asDouble(c) + context.input(kGroupBeta).asDouble(c);
        y.mutableData<double>()[at] =
            context.node.intAttr("activation", 0) == 1 ? value / (1 + std::exp(-value)) : value;
    });
}

Status evalGroupNorm(EvalContext& context) {
    const Images images(context.node, context.input(kNormed).shape());
    const Tensor x = withSkip(context, images);
    Tensor y = Tensor::zeros(DType::f64, x.shape());
    const std::int64_t groups = context.node.intAttr("groups", 1), count = images.channels / groups;
    for (std::int64_t n = 0; n < images.batch; ++n)
        for (std::int64_t g = 0; g < groups; ++g)
            normalizeGroup(context, images, n, g * count, count, x, y);
    context.outputs[0] = y.cast(context.outputs[0].type());
    if (context.wanted(1))
        context.outputs[1] = x.cast(context.outputs[1].type());
    return {};
}

// Nodes on images [N, C, positions] in the type that is computed in.
class GroupNormWriter {
public:
    explicit GroupNormWriter(ExpandContext& context)
        : c_(context), shape_(context.type(kNormed).shape()), images_(context.node, shape_),
          type_(context.type(kNormed).dtype), wide_(computeType(type_)) {}

    void write() {
        ValueId x = wide(kNormed);
        if (c_.has(kGroupSkip))
            x = c_.add("Add", x, skip());
        if (c_.has(kGroupSkipBias))
            x = c_.add("Add", x, perChannel(kGroupSkipBias));
        if (c_.wanted(1))
            c_.outputs[1] = c_.narrowed(x, type_);
        ValueId y = normal(x);
        y = c_.add("Add", c_.add("Mul", y, perChannel(kGroupGamma)), perChannel(kGroupBeta));
        if (c_.node.intAttr("activation", 0) == 1)
            y = c_.add("Mul", y, c_.add("Sigmoid", {y}));
        c_.outputs[0] = c_.narrowed(y, type_);
    }

private:
    ValueId wide(std::size_t input) {
        const DType own = c_.type(input).dtype;
        return own == wide_ ? c_.node.inputs[input] : c_.cast(c_.node.inputs[input], wide_);
    }
    ValueId perChannel(std::size_t input) {
        Shape shape(shape_.size(), 1);
        shape[channelAxis(c_.node, shape.size())] = images_.channels;
        return c_.reshape(wide(input), shape);
    }
    ValueId skip() {
        Shape shape(shape_.size(), 1);
        shape[0] = images_.batch;
        shape[channelAxis(c_.node, shape.size())] = images_.channels;
        const bool whole = c_.type(kGroupSkip).shape() == shape_;
        return whole ? wide(kGroupSkip) : c_.reshape(wide(kGroupSkip), shape);
    }
    // Groups are the channels of InstanceNormalization.
    ValueId normal(ValueId x) {
        const auto axes = countedAxes(shape_.size());
        const std::int64_t groups = c_.node.intAttr("groups", 1);
        const Shape second = images_.last ? channelsSecond(shape_) : shape_;
        const ValueId apart = images_.last ? c_.transpose(x, channelsSecond(axes)) : x;
        const ValueId rows =
            c_.reshape(apart, {images_.batch, groups, images_.channels / groups * images_.positions});
        const ValueId made =
            c_.add("InstanceNormalization",
                   {rows, c_.addConstant(filled(1, groups)), c_.addConstant(filled(0, groups))},
                   {{"epsilon", c_.node.floatAttr("epsilon", 1e-5F)}});
        const ValueId back = c_.reshape(made, second);
        return images_.last ? c_.transpose(back, channelsBehind(axes)) : back;
    }
    Tensor filled(double value, std::int64_t count) const {
        Tensor all = Tensor::zeros(DType::f64, {count});
        std::ranges::fill(all.mutableData<double>(), value);
        return all.cast(wide_);
    }

    ExpandContext& c_;
    const Shape shape_;
    const Images images_;
    const DType type_, wide_;
};

Status expandGroupNorm(ExpandContext& context) {
    TS_TRY(context.requireShapes());
    GroupNormWriter(context).write();
    return {};
}

Status inferBiasAdd(InferContext& in) {
    TS_TRY(inferFloatUnary(in));
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
        TS_TRY(requireSameType(in, 0, i));
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    TS_TRY(requireRank(in, 0, 3, "batch, positions and channels"));
    TS_TRY(requireDims(in, 1, {x.back()}, "one number for each channel"));
    return requireDims(in, 2, x, "like the input");
}

Status evalBiasAdd(EvalContext& context) {
    Tensor sum = Tensor::zeros(DType::f64, context.input(0).shape());
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{2}})
        mapBroadcast<double, double>(sum, context.input(i).cast(DType::f64), sum,
                                     [](double a, double b) { return a + b; });
    context.outputs[0] = sum.cast(context.outputs[0].type());
    return {};
}

Status expandBiasAdd(ExpandContext& context) {
    const DType type = context.type(0).dtype;
    const auto wide = [&](std::size_t i) { return context.widened(context.node.inputs[i], type); };
    context.outputs[0] =
        context.narrowed(context.add("Add", context.add("Add", wide(0), wide(1)), wide(2)), type);
    return {};
}

} // namespace

void registerContribGroupNorm(OperatorList& list) {
    addExpanded(list, "GroupNorm", {3, 3}, inferGroupNorm, evalGroupNorm, expandGroupNorm);
    addExpanded(list, "SkipGroupNorm", {4, 5, 2}, inferGroupNorm, evalGroupNorm, expandGroupNorm);
    addExpanded(list, "BiasAdd", {3, 3}, inferBiasAdd, evalBiasAdd, expandBiasAdd);
}

} // namespace tunesmith::ops
