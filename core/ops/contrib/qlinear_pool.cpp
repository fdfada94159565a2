// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/contrib/channels_last.h"
#include "core/ops/contrib/qlinear.h"
#include "core/ops/pool.h"

// QLinearAveragePool: the mean of real numbers, whose zero point is added before rounding.
// QLinearGlobalAveragePool: the int32 sum of an image's bytes, whose zero point is added after rounding; a
// QLinearAveragePool whose window is the whole image is one, as in ONNX Runtime. With channels_last x is [N,
// spatial..., C].
namespace tunesmith::ops {
namespace {

using namespace loops;

constexpr QuantisedInput kPooled{0, 1, 2}, kPool{0, 3, 4};

Status checkQLinearPool(InferContext& in) {
    TS_TRY(checkQuantised(in, kPooled));
    TS_TRY(checkParameters(in, kPooled.value, kPool));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (in.type(0).dims && in.type(0).dims->size() < 3)
        return in.error("input 0 is " + in.type(0).text() + " but must have batch, channels and positions");
    return {};
}

Status inferQLinearAverage(InferContext& in) {
    TS_TRY(checkQLinearPool(in));
    if (!in.type(0).dims)
        return {};
    const bool last = channelsLast(in.node);
    TS_ASSIGN(Dims dims, pooledDims(in, last ? channelsSecond(*in.type(0).dims) : *in.type(0).dims));
    in.outputs[0].dims = last ? channelsBehind(dims) : dims;
    return {};
}

// Where elements of channels lie: steps between images, channels and positions.
struct ChannelSteps {
    std::int64_t image, channel, position;
    ChannelSteps(std::int64_t channels, std::int64_t positions, bool last)
        : image(channels * positions), channel(last ? 1 : positions), position(last ? channels : 1) {}
};

// The sum over one window, in float32 and in the order of the taps; none where it lies in the padding alone.
float sumOver(const WindowGeometry& g, const Shape& at, const std::function<float(std::int64_t)>& real) {
    const Shape strides = rowMajorStrides(g.input);
    Shape count, tap(g.rank(), 0);
    std::int64_t origin = 0;
    for (std::size_t d = 0; d < g.rank(); ++d) {
        const TapRange range = tapsInside(g.dims[d], at[d], g.input[d]);
        if (range.first >= range.last)
            return 0;
        count.push_back(range.last - range.first);
        origin += (at[d] * g.dims[d].stride - g.dims[d].padBegin + range.first * g.dims[d].dilation) * strides[d];
    }
    float sum = 0;
    do {
        std::int64_t offset = origin;
        for (std::size_t d = 0; d < g.rank(); ++d)
            offset += tap[d] * g.dims[d].dilation * strides[d];
        sum += real(offset);
    } while (nextIndex(tap, count));
    return sum;
}

float meanOver(const WindowGeometry& g, const Shape& at, bool includePad,
               const std::function<float(std::int64_t)>& real) {
    return sumOver(g, at, real) / static_cast<float>(tapsCounted(g, at, includePad));
}

bool isWholeImage(const WindowGeometry& g) {
    bool whole = true;
    for (std::size_t d = 0; d < g.rank(); ++d)
        whole = whole && g.dims[d].kernel == g.input[d] && g.dims[d].dilation == 1 &&
                g.dims[d].padBegin == 0 && g.dims[d].padEnd == 0;
    return whole;
}

Status evalQLinearGlobalAverage(EvalContext& context) {
    const Tensor x = context.input(0).cast(DType::i32);
    const bool last = channelsLast(context.node);
    const Shape shape = last ? channelsSecond(x.shape()) : x.shape();
    const std::int64_t positions = elementCount(std::span(shape).subspan(2));
    const ChannelSteps read(shape[1], positions, last);
    const ScaleAndZero from = parametersOf(context, kPooled), to = parametersOf(context, kPool);
    const float factor = from.scale / (to.scale * static_cast<float>(positions));
    visitQuantised(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        for (std::int64_t plane = 0; plane < context.outputs[0].count(); ++plane) {
            const std::int64_t origin = plane / shape[1] * read.image + plane % shape[1] * read.channel;
            std::int32_t sum = 0;
            for (std::int64_t p = 0; p < positions; ++p)
                sum += x.data<std::int32_t>()[origin + p * read.position] - from.zero;
            context.outputs[0].mutableData<T>()[plane] =
                saturated<T>(std::nearbyint(static_cast<float>(sum) * factor) + static_cast<float>(to.zero));
        }
    });
    return {};
}

Status evalQLinearAverage(EvalContext& context) {
    const Tensor x = context.input(0).cast(DType::i32);
    const bool last = channelsLast(context.node),
               includePad = context.node.intAttr("count_include_pad", 0) != 0;
    const Shape shape = last ? channelsSecond(x.shape()) : x.shape();
    TS_ASSIGN(const WindowGeometry g, poolGeometry(context.node, shape));
    if (isWholeImage(g))
        return evalQLinearGlobalAverage(context);
    const ScaleAndZero from = parametersOf(context, kPooled), to = parametersOf(context, kPool);
    const ChannelSteps read(shape[1], elementCount(g.input), last),
        write(shape[1], elementCount(g.output), last);
    const auto stored = x.data<std::int32_t>();
    visitQuantised(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        const auto y = context.outputs[0].mutableData<T>();
        for (std::int64_t plane = 0; plane < shape[0] * shape[1] && !y.empty(); ++plane) {
            const std::int64_t image = plane / shape[1], channel = plane % shape[1];
            const std::int64_t origin = image * read.image + channel * read.channel;
            std::int64_t target = image * write.image + channel * write.channel;
            Shape at(g.rank(), 0);
            do {
                const float mean = meanOver(g, at, includePad, [&](std::int64_t position) {
                    return static_cast<float>(stored[origin + position * read.position] - from.zero) *
                           from.scale;
                });
                y[target] = saturated<T>(std::nearbyint(mean / to.scale + static_cast<float>(to.zero)));
                target += write.position;
            } while (nextIndex(at, g.output));
        }
    });
    return {};
}

Expr requantizedMean(const LowerContext& context, const Expr& mean) {
    const Expr shifted =
        roundedQuotient(mean, scaleExpr(context, kPool)) + cast(DType::f32, zeroExpr(context, kPool));
    return saturated(context.outputType(), unary(Op::round, shifted));
}

Status lowerQLinearAverage(LowerContext& context) {
    const Shape x = context.inputShape(0);
    TS_ASSIGN(const WindowGeometry g, poolGeometry(context.node, x));
    const bool includePad = context.node.intAttr("count_include_pad", 0) != 0;
    const Expr zero = zeroExpr(context, kPooled), scale = scaleExpr(context, kPooled);
    const TensorRef sum =
        context.add(poolStage(g, "pool_sum", DType::f32, Reduction::sum, x[0], x[1], [&](const Indices& at) {
            const Expr centred = cast(DType::i32, load(context.inputs[0], at)) - zero;
            return roundedProduct(cast(DType::f32, centred), scale);
        }));
    lowerElementwise(context, "avg_pool", [&](const Indices& i) {
        const Expr count = tapsCounted(g, Indices(i.begin() + 2, i.end()), includePad);
        return requantizedMean(context, roundedQuotient(load(sum, i), cast(DType::f32, count)));
    });
    return {};
}

bool isWholeImage(const OpInputs& in) {
    if (!in.type(0).isStatic() || in.type(0).dims->size() < 3)
        return false;
    const Shape x = in.type(0).shape();
    const auto g = poolGeometry(in.node, channelsLast(in.node) ? channelsSecond(x) : x);
    return g.ok() && isWholeImage(*g);
}

Status averageLowerable(const OpInputs& in) {
    if (channelsLast(in.node))
        return in.unsupported("channels_last is written with transpositions");
    return isWholeImage(in) ? Status(in.unsupported("the mean of an image is QLinearGlobalAveragePool"))
                            : Status();
}

// The global pool where that is meant, the same pool between transpositions where channels stand last.
Status expandQLinearAverage(ExpandContext& context) {
    if (isWholeImage(context)) {
        context.outputs[0] =
            addMicrosoft(context, "QLinearGlobalAveragePool", context.node.inputs,
                         {{"channels_last", std::int64_t{channelsLast(context.node) ? 1 : 0}}});
        return {};
    }
    if (!channelsLast(context.node) || !context.type(0).dims || context.type(0).dims->size() < 3)
        return context.unsupported("it is compiled as it is");
    const std::vector<std::int64_t> axes = countedAxes(context.type(0).dims->size());
    std::vector<ValueId> inputs = context.node.inputs;
    inputs[0] = context.transpose(inputs[0], channelsSecond(axes));
    const ValueId y =
        addMicrosoft(context, context.node.op, inputs, attributesWithout(context.node, {"channels_last"}));
    context.outputs[0] = context.transpose(y, channelsBehind(axes));
    return {};
}

Status inferQLinearGlobalAverage(InferContext& in) {
    TS_TRY(checkQLinearPool(in));
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    const bool last = channelsLast(in.node);
    std::fill(dims.begin() + (last ? 1 : 2), dims.end() - (last ? 1 : 0), Dim(1));
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status lowerQLinearGlobalAverage(LowerContext& context) {
    const Shape x = context.inputShape(0);
    std::vector<std::size_t> axes;
    for (std::size_t d = channelsLast(context.node) ? 1 : 2; axes.size() + 2 < x.size(); ++d)
        axes.push_back(d);
    const Expr zero = zeroExpr(context, kPooled);
    const TensorRef sum =
        reduceOver(context, "global_sum", DType::i32, Reduction::sum, x, axes,
                   [&](const Indices& i) { return cast(DType::i32, load(context.inputs[0], i)) - zero; });
    const Expr count = constantOf(DType::f32, static_cast<double>(countOver(x, axes)));
    const Expr factor = scaleExpr(context, kPooled) / (scaleExpr(context, kPool) * count);
    lowerElementwise(context, "requantize", [&](const Indices& i) {
        const Expr rounded = unary(Op::round, cast(DType::f32, load(sum, i)) * factor);
        return saturated(context.outputType(), rounded + cast(DType::f32, zeroExpr(context, kPool)));
    });
    return {};
}

} // namespace

void registerContribQLinearPool(OperatorList& list) {
    addLowered(list, "QLinearAveragePool", Fusion::anchor, {1, 5}, inferQLinearAverage, evalQLinearAverage,
               lowerQLinearAverage, averageLowerable);
    list.back().expand = expandQLinearAverage;
    addLowered(list, "QLinearGlobalAveragePool", Fusion::anchor, {1, 5}, inferQLinearGlobalAverage,
               evalQLinearGlobalAverage, lowerQLinearGlobalAverage);
}

} // namespace tunesmith::ops
