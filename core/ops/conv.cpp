// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/dense.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"
#include "core/ops/window.h"

// Conv: x [N, C, spatial...], w [M, C/group, kernel...], optional bias [M]. Any number of spatial dimensions.
namespace tunesmith::ops {
namespace {

using namespace loops;

Shape spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

Result<WindowGeometry> geometryOf(const Node& node, const Shape& x, const Shape& w) {
    TS_ASSIGN(const WindowAttributes attributes, readWindows(node, spatial(w)));
    return windowGeometry(attributes, spatial(x));
}

Status checkKernelShape(const OpInputs& in, const Dims& w) {
    const Shape stated = in.node.intsAttr("kernel_shape");
    if (stated.empty())
        return {};
    bool fits = stated.size() + 2 == w.size();
    for (std::size_t d = 0; fits && d < stated.size(); ++d)
        fits = !w[d + 2].known() || w[d + 2].extent == stated[d];
    if (fits)
        return {};
    return in.error("kernel_shape " + attributeText(stated) + " does not fit the weights " + in.type(1).text());
}

Status checkChannels(const OpInputs& in, const Dims& x, const Dims& w) {
    const std::int64_t group = in.node.intAttr("group", 1);
    if (group < 1)
        return in.error("group must be at least 1, not " + std::to_string(group));
    if (w[0].known() && w[0].extent % group != 0)
        return in.error(std::to_string(w[0].extent) + " output channels cannot be split into " + std::to_string(group) +
                        " groups");
    std::int64_t wanted = 0;
    if (w[1].known() && x[1].known() &&
        (__builtin_mul_overflow(w[1].extent, group, &wanted) || wanted != x[1].extent))
        return pairError(in, 0, 1, "do not fit: " + std::to_string(group) + " groups need " + std::to_string(wanted) +
                                       " input channels");
    return {};
}

Status checkBias(const OpInputs& in, const Dims& w) {
    if (!in.has(2) || !in.type(2).dims)
        return {};
    const Dims& bias = *in.type(2).dims;
    if (bias.size() == 1 && mergeEqual(bias[0], w[0]))
        return {};
    return pairError(in, 1, 2, "do not fit: the bias must have one value per output channel");
}

Result<Dims> spatialDims(const InferContext& in, const Dims& x, const Dims& w) {
    Shape kernel = in.node.intsAttr("kernel_shape");
    if (kernel.empty())
        for (std::size_t d = 2; d < w.size() && w[d].known(); ++d)
            kernel.push_back(w[d].extent);
    if (kernel.size() + 2 != w.size())
        return Dims(x.size() - 2);
    TS_ASSIGN(const WindowAttributes attributes, readWindows(in.node, kernel));
    return windowedDims(attributes, Dims(x.begin() + 2, x.end()));
}

Status inferConv(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireSameType(in, 0, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (in.has(2))
        TS_TRY(requireSameType(in, 0, 2));
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    const Dims &x = *in.type(0).dims, &w = *in.type(1).dims;
    if (x.size() < 3 || x.size() != w.size())
        return pairError(in, 0, 1, "do not fit: both must have the same rank of at least 3");
    TS_TRY(checkKernelShape(in, w));
    TS_TRY(checkChannels(in, x, w));
    TS_TRY(checkBias(in, w));
    const Result<Dims> positions = spatialDims(in, x, w);
    if (!positions.ok())
        return pairError(in, 0, 1, "do not fit: " + positions.error().message);
    in.outputs[0].dims = Dims{x[0], w[0]};
    in.outputs[0].dims->insert(in.outputs[0].dims->end(), positions->begin(), positions->end());
    return {};
}

// One row of the column matrix: what tap `taps` reads of one channel for the output positions [begin, end).
template <class T>
void gatherTap(const WindowGeometry& g, const T* channel, const Shape& taps, std::int64_t begin, std::int64_t end, T* row) {
    const std::size_t last = g.rank() - 1;
    const Shape inStrides = rowMajorStrides(g.input), outStrides = rowMajorStrides(g.output);
    const Window& inner = g.dims[last];
    for (std::int64_t p = begin; p < end;) {
        std::int64_t rest = p, offset = 0;
        bool inside = true;
        for (std::size_t d = 0; d < last; ++d) {
            const std::int64_t at = rest / outStrides[d] * g.dims[d].stride + taps[d] * g.dims[d].dilation - g.dims[d].padBegin;
            rest %= outStrides[d];
            inside = inside && at >= 0 && at < g.input[d];
            offset += at * inStrides[d];
        }
        const std::int64_t count = std::min(g.output[last] - rest, end - p);
        const std::int64_t shift = taps[last] * inner.dilation - inner.padBegin;
        const T* const source = inside ? channel + offset : nullptr;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t at = (rest + i) * inner.stride + shift;
            row[p - begin + i] = source && at >= 0 && at < g.input[last] ? source[at] : T{};
        }
        p += count;
    }
}

struct ConvSizes {
    std::int64_t batch, group, inPerGroup, outPerGroup, inPositions, outPositions, taps;
    ConvSizes(const WindowGeometry& g, const Shape& x, const Shape& w, std::int64_t groups)
        : batch(x[0]), group(groups), inPerGroup(w[1]), outPerGroup(w[0] / groups), inPositions(elementCount(g.input)),
          outPositions(elementCount(g.output)), taps(elementCount(spatial(w))) {}
};

// One image and group: unfolds the input tile by tile into columns and multiplies the weights with them.
template <class T>
void convolveGroup(const WindowGeometry& g, const ConvSizes& s, const T* x, const T* w, T* y) {
    constexpr std::int64_t kTile = 256, kDepth = 128;
    const std::int64_t depth = s.inPerGroup * s.taps;
    Shape kernel;
    for (const Window& window : g.dims)
        kernel.push_back(window.kernel);
    std::vector<T> columns(static_cast<std::size_t>(kTile * kDepth));
    for (std::int64_t p = 0; p < s.outPositions; p += kTile) {
        const std::int64_t end = std::min(p + kTile, s.outPositions);
        Shape tap(kernel.size(), 0);
        std::int64_t channel = 0;
        for (std::int64_t k0 = 0; k0 < depth; k0 += kDepth) {
            const std::int64_t rows = std::min(kDepth, depth - k0);
            for (std::int64_t k = 0; k < rows; ++k) {
                gatherTap(g, x + channel * s.inPositions, tap, p, end, columns.data() + k * kTile);
                if (!nextIndex(tap, kernel))
                    ++channel;
            }
            multiplyAccumulate(s.outPerGroup, end - p, rows, w + k0, depth, 1, columns.data(), kTile, y + p,
                               s.outPositions);
        }
    }
}

template <class T> void convolve(EvalContext& context, const WindowGeometry& g, const ConvSizes& s) {
    const T* const x = context.input(0).data<T>().data();
    const T* const w = context.input(1).data<T>().data();
    const T* const bias = context.has(2) ? context.input(2).data<T>().data() : nullptr;
    T* const y = context.outputs[0].mutableData<T>().data();
    for (std::int64_t image = 0; image < s.batch * s.group; ++image) {
        const std::int64_t group = image % s.group;
        T* const out = y + image * s.outPerGroup * s.outPositions;
        if (bias)
            for (std::int64_t m = 0; m < s.outPerGroup; ++m)
                std::fill_n(out + m * s.outPositions, s.outPositions, bias[group * s.outPerGroup + m]);
        convolveGroup(g, s, x + image * s.inPerGroup * s.inPositions,
                      w + group * s.outPerGroup * s.inPerGroup * s.taps, out);
    }
}

Status evalConv(EvalContext& context) {
    const Shape &x = context.input(0).shape(), &w = context.input(1).shape();
    TS_ASSIGN(const WindowGeometry geometry, geometryOf(context.node, x, w));
    const ConvSizes sizes(geometry, x, w, context.node.intAttr("group", 1));
    visitFloat(context.outputs[0].type(), [&](auto tag) { convolve<decltype(tag)>(context, geometry, sizes); });
    return {};
}

// The input channel that reduction index r reads for output channel o.
Expr channelOf(const ConvSizes& s, const Expr& o, const Expr& r) {
    if (s.group == 1)
        return r;
    const Expr group = o / Expr(s.outPerGroup);
    return s.inPerGroup == 1 ? group : group * Expr(s.inPerGroup) + r;
}

Stage convStage(const LowerContext& context, const WindowGeometry& g, const ConvSizes& s) {
    const TensorRef &x = context.inputs[0], &w = context.inputs[1];
    Shape extents{s.inPerGroup};
    for (const Window& window : g.dims)
        extents.push_back(window.kernel);
    const DType type = computeType(context.outputType());
    return reduce("conv", type, context.outputShape(), Reduction::sum, extents, [&](const Indices& o, const Indices& r) {
        Indices at{o[0], channelOf(s, o[1], r[0])}, weight{o[1]}, taps;
        weight.insert(weight.end(), r.begin(), r.end());
        for (std::size_t d = 0; d < g.rank(); ++d)
            taps.push_back(tapIndex(g.dims[d], o[d + 2], r[d + 1]));
        at.insert(at.end(), taps.begin(), taps.end());
        return ReductionBody{read(x, at) * read(w, weight), tapGuard(g, taps)};
    });
}

Status lowerConv(LowerContext& context) {
    TS_ASSIGN(const WindowGeometry geometry, geometryOf(context.node, context.inputShape(0), context.inputShape(1)));
    const ConvSizes sizes(geometry, context.inputShape(0), context.inputShape(1), context.node.intAttr("group", 1));
    Stage stage = convStage(context, geometry, sizes);
    if (!context.has(2)) {
        finishReduction(context, std::move(stage));
        return {};
    }
    const TensorRef sum = context.add(std::move(stage));
    lowerElementwise(context, "bias",
                     [&](const Indices& i) { return load(sum, i) + read(context.inputs[2], {i[1]}); });
    return {};
}

} // namespace

void registerConv(OperatorList& list) {
    addOperator(list, "Conv", Fusion::anchor, 1, {2, 3}, inferConv, evalConv, lowerConv);
}

} // namespace tunesmith::ops
