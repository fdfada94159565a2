// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/conv_transpose.h"

#include "core/base/scratch.h"
#include "core/ops/dense.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"
#include "core/ops/window.h"

// ConvTranspose: x [N, C, spatial...], w [C, M/group, kernel...], optional bias [M]: the gradient of Conv by its input.
// Element i of x and tap k of the kernel meet at output index i * stride + k * dilation - padBegin.
namespace tunesmith::ops {
namespace {

using namespace loops;

constexpr std::int64_t kMost = std::int64_t{1} << 30;

// The output's extent; resolves the pads of `window`. The rules are those of the ONNX operator's text.
Result<std::int64_t> outputExtent(const Node& node, AutoPad autoPad, Window& window, std::size_t d, std::int64_t extent) {
    const std::vector<std::int64_t> extra = node.intsAttr("output_padding"), wanted = node.intsAttr("output_shape");
    const std::int64_t outputPadding = extra.empty() ? 0 : extra[d];
    const std::int64_t full = (extent - 1) * window.stride + outputPadding + window.span();
    const bool same = autoPad == AutoPad::sameUpper || autoPad == AutoPad::sameLower;
    std::int64_t output = full - window.padBegin - window.padEnd;
    if (!wanted.empty() || same) {
        output = wanted.empty() ? extent * window.stride : wanted[d];
        const std::int64_t total = std::max<std::int64_t>(full - output, 0);
        window.padBegin = autoPad == AutoPad::sameUpper ? total / 2 : total - total / 2;
        window.padEnd = total - window.padBegin;
    }
    if (output < 1 || output > kMost)
        return inputError("an input extent of " + std::to_string(extent) + " would give an output extent of " +
                          std::to_string(output));
    return output;
}

// output_shape may hold the spatial extents only or, in old models, batch and channels too.
Result<Node> normalized(const Node& node, std::size_t rank) {
    Node copy = node;
    std::vector<std::int64_t> wanted = node.intsAttr("output_shape");
    if (wanted.size() == rank + 2) {
        wanted.erase(wanted.begin(), wanted.begin() + 2);
        copy.attributes["output_shape"] = wanted;
    }
    if (!wanted.empty() && wanted.size() != rank)
        return inputError("output_shape " + attributeText(wanted) + " needs " + std::to_string(rank) + " values");
    const std::vector<std::int64_t> extra = node.intsAttr("output_padding");
    if (!extra.empty() && extra.size() != rank)
        return inputError("output_padding " + attributeText(extra) + " needs " + std::to_string(rank) + " values");
    for (const std::int64_t value : extra)
        if (value < 0 || value > kMost)
            return inputError("output_padding " + attributeText(extra) + " has a value out of range");
    return copy;
}

struct TransposedDims {
    std::vector<Window> windows;
    Dims output;
};

Result<TransposedDims> transposedDims(const Node& original, const Shape& kernel, const Dims& input) {
    TS_ASSIGN(const Node node, normalized(original, kernel.size()));
    TS_ASSIGN(const WindowAttributes attributes, readWindows(node, kernel));
    TransposedDims result{attributes.dims, {}};
    for (std::size_t d = 0; d < input.size(); ++d) {
        if (!input[d].known()) {
            const auto wanted = node.intsAttr("output_shape");
            result.output.push_back(wanted.empty() ? Dim() : Dim(std::max<std::int64_t>(wanted[d], 0)));
            continue;
        }
        if (input[d].extent > kMost)
            return inputError("an input extent of " + std::to_string(input[d].extent) + " is too large");
        TS_ASSIGN(const std::int64_t extent,
                  outputExtent(node, attributes.autoPad, result.windows[d], d, input[d].extent));
        result.output.emplace_back(extent);
    }
    return result;
}

Status checkChannels(const InferContext& in, const Dims& x, const Dims& w, std::int64_t group) {
    if (group < 1 || group > kMost)
        return in.error("group must be at least 1, not " + std::to_string(group));
    if (!mergeEqual(x[1], w[0]))
        return pairError(in, 0, 1, "do not fit: the weights must have the input's channels first");
    if (x[1].known() && x[1].extent % group != 0)
        return in.error(std::to_string(x[1].extent) + " input channels cannot be split into " + std::to_string(group) +
                        " groups");
    if (w[1].known() && w[1].extent > kMost)
        return in.error("the weights " + in.type(1).text() + " are too large");
    return {};
}

Status inferConvTranspose(InferContext& in) {
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
    const std::int64_t group = in.node.intAttr("group", 1);
    TS_TRY(checkChannels(in, x, w, group));
    std::int64_t product = 0;
    const Dim channels = w[1].known() && !__builtin_mul_overflow(w[1].extent, group, &product) ? Dim(product) : Dim();
    if (in.has(2) && in.type(2).dims && (in.type(2).dims->size() != 1 || !mergeEqual((*in.type(2).dims)[0], channels)))
        return pairError(in, 1, 2, "do not fit: the bias must have one value per output channel");
    in.outputs[0].dims = Dims{x[0], channels};
    Shape kernel;
    for (std::size_t d = 2; d < w.size() && w[d].known(); ++d)
        kernel.push_back(w[d].extent);
    const Shape stated = in.node.intsAttr("kernel_shape", kernel);
    if (stated.size() + 2 != w.size() || (kernel.size() == stated.size() && kernel != stated))
        return in.error("kernel_shape " + attributeText(stated) + " does not fit the weights " + in.type(1).text());
    const Result<TransposedDims> dims = transposedDims(in.node, stated, Dims(x.begin() + 2, x.end()));
    if (!dims.ok())
        return pairError(in, 0, 1, "do not fit: " + dims.error().message);
    in.outputs[0].dims->insert(in.outputs[0].dims->end(), dims->output.begin(), dims->output.end());
    return {};
}

// Adds what the input positions contribute through one tap to one output channel.
template <class T> void scatterTap(const WindowGeometry& g, const T* column, const Shape& tap, T* channel) {
    const Shape strides = rowMajorStrides(g.input);
    const std::size_t last = g.rank() - 1;
    const Window& inner = g.dims[last];
    Shape at(g.rank(), 0), outer = g.output;
    outer[last] = 1;
    do {
        std::int64_t offset = 0;
        bool inside = true;
        for (std::size_t d = 0; d < last; ++d) {
            const std::int64_t o = at[d] * g.dims[d].stride + tap[d] * g.dims[d].dilation - g.dims[d].padBegin;
            inside = inside && o >= 0 && o < g.input[d];
            offset += o * strides[d];
        }
        const std::int64_t shift = tap[last] * inner.dilation - inner.padBegin;
        for (std::int64_t i = 0; inside && i < g.output[last]; ++i) {
            const std::int64_t o = i * inner.stride + shift;
            if (o >= 0 && o < g.input[last])
                channel[offset + o] += column[i];
        }
        column += g.output[last];
    } while (nextIndex(at, outer));
}

template <class T> void transposeConvolve(EvalContext& context, const WindowGeometry& g, std::int64_t group) {
    const Shape &x = context.input(0).shape(), &w = context.input(1).shape();
    const std::int64_t inPerGroup = x[1] / group, outPerGroup = w[1], taps = elementCount(spatialExtents(w));
    const std::int64_t inPositions = elementCount(g.output), outPositions = elementCount(g.input);
    const T* const source = context.input(0).data<T>().data();
    const T* const weights = context.input(1).data<T>().data();
    T* const y = context.outputs[0].mutableData<T>().data();
    Scratch<T> column(static_cast<std::size_t>(taps * inPositions));
    for (std::int64_t image = 0; image < x[0] * group; ++image) {
        const T* const from = source + image * inPerGroup * inPositions;
        const T* const kernel = weights + (image % group) * inPerGroup * outPerGroup * taps;
        for (std::int64_t m = 0; m < outPerGroup; ++m) {
            T* const out = y + (image * outPerGroup + m) * outPositions;
            if (context.has(2))
                std::fill_n(out, outPositions, context.input(2).data<T>()[(image % group) * outPerGroup + m]);
            std::fill(column.begin(), column.end(), T{});
            multiplyAccumulate(taps, inPositions, inPerGroup, kernel + m * taps, 1, outPerGroup * taps, from, inPositions,
                               column.data(), inPositions);
            Shape tap(g.rank(), 0);
            for (std::int64_t t = 0; t < taps; ++t, nextIndex(tap, spatialExtents(w)))
                scatterTap(g, column.data() + t * inPositions, tap, out);
        }
    }
}

Status evalConvTranspose(EvalContext& context) {
    TS_ASSIGN(const WindowGeometry geometry,
              transposedConvGeometry(context.node, context.input(0).shape(), context.input(1).shape()));
    if (context.input(0).count() == 0 || context.outputs[0].count() == 0)
        return {};
    const std::int64_t group = context.node.intAttr("group", 1);
    visitFloat(context.outputs[0].type(), [&](auto tag) { transposeConvolve<decltype(tag)>(context, geometry, group); });
    return {};
}

// Which input index output `o` sees through tap `k`, and whether there is one.
Expr sourceIndex(const WindowGeometry& g, std::size_t d, const Expr& o, const Expr& k, Expr& guard) {
    const Window& window = g.dims[d];
    const Expr shifted = o + Expr(window.padBegin) - k * Expr(window.dilation);
    const Expr index = shifted / Expr(window.stride);
    const auto require = [&](const Expr& condition) { guard = guard.valid() ? guard && condition : condition; };
    if (window.stride > 1)
        require(equal(shifted % Expr(window.stride), Expr(0)));
    if (window.span() - 1 > window.padBegin)
        require(shifted >= Expr(0));
    if ((g.input[d] - 1 + window.padBegin) / window.stride >= g.output[d])
        require(index < Expr(g.output[d]));
    return index;
}

Status lowerConvTranspose(LowerContext& context) {
    const Shape &x = context.inputShape(0), &w = context.inputShape(1);
    TS_ASSIGN(const WindowGeometry g, transposedConvGeometry(context.node, x, w));
    const std::int64_t group = context.node.intAttr("group", 1);
    Shape extents{x[1] / group};
    for (const Window& window : g.dims)
        extents.push_back(window.kernel);
    const auto body = [&](const Indices& o, const Indices& r) {
        const Expr channel = group == 1 ? r[0] : o[1] / Expr(w[1]) * Expr(x[1] / group) + r[0];
        Indices at{o[0], channel}, weight{channel, group == 1 ? o[1] : o[1] % Expr(w[1])};
        Expr guard;
        for (std::size_t d = 0; d < g.rank(); ++d) {
            at.push_back(sourceIndex(g, d, o[d + 2], r[d + 1], guard));
            weight.push_back(r[d + 1]);
        }
        return ReductionBody{read(context.inputs[0], at) * read(context.inputs[1], weight), guard};
    };
    Stage stage = reduce("conv_transpose", computeType(context.outputType()), context.outputShape(), Reduction::sum,
                         extents, body);
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

Result<WindowGeometry> transposedConvGeometry(const Node& node, const Shape& x, const Shape& w) {
    TS_ASSIGN(const TransposedDims dims, transposedDims(node, spatialExtents(w), knownDims(spatialExtents(x))));
    return WindowGeometry{dims.windows, TensorType(DType::f32, dims.output).shape(), spatialExtents(x), false};
}

void registerConvTranspose(OperatorList& list) {
    addOperator(list, "ConvTranspose", Fusion::anchor, 1, {2, 3}, inferConvTranspose, evalConvTranspose,
                lowerConvTranspose);
}

} // namespace tunesmith::ops
