// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/convolution.h"

#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

using namespace loops;

Status checkKernelShape(const OpInputs& in, const ConvInputs& inputs, const Dims& w) {
    const Shape stated = in.node.intsAttr("kernel_shape");
    if (stated.empty())
        return {};
    bool fits = stated.size() + 2 == w.size();
    for (std::size_t d = 0; fits && d < stated.size(); ++d)
        fits = !w[d + 2].known() || w[d + 2].extent == stated[d];
    if (fits)
        return {};
    return in.error("kernel_shape " + attributeText(stated) + " does not fit the weights " + in.type(inputs.w).text());
}

Status checkChannels(const OpInputs& in, const ConvInputs& inputs, const Dims& x, const Dims& w) {
    const std::int64_t group = in.node.intAttr("group", 1);
    if (group < 1)
        return in.error("group must be at least 1, not " + std::to_string(group));
    if (w[0].known() && w[0].extent % group != 0)
        return in.error(std::to_string(w[0].extent) + " output channels cannot be split into " + std::to_string(group) +
                        " groups");
    std::int64_t wanted = 0;
    if (w[1].known() && x[1].known() && (__builtin_mul_overflow(w[1].extent, group, &wanted) || wanted != x[1].extent))
        return pairError(in, inputs.x, inputs.w,
                         "do not fit: " + std::to_string(group) + " groups need " + std::to_string(wanted) +
                             " input channels");
    return {};
}

Status checkBias(const OpInputs& in, const ConvInputs& inputs, const Dims& w) {
    if (!in.has(inputs.bias) || !in.type(inputs.bias).dims)
        return {};
    const Dims& bias = *in.type(inputs.bias).dims;
    if (bias.size() == 1 && mergeEqual(bias[0], w[0]))
        return {};
    return pairError(in, inputs.w, inputs.bias, "do not fit: the bias must have one value per output channel");
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

// The input channel that reduction index r reads for output channel o.
Expr channelOf(const ConvSizes& s, const Expr& o, const Expr& r) {
    if (s.group == 1)
        return r;
    const Expr group = o / Expr(s.outPerGroup);
    return s.inPerGroup == 1 ? group : group * Expr(s.inPerGroup) + r;
}

} // namespace

Result<WindowGeometry> convGeometry(const Node& node, const Shape& x, const Shape& w) {
    TS_ASSIGN(const WindowAttributes attributes, readWindows(node, spatialExtents(w)));
    return windowGeometry(attributes, spatialExtents(x));
}

Result<std::optional<Dims>> convDims(const InferContext& in, const ConvInputs& inputs) {
    if (!in.type(inputs.x).dims || !in.type(inputs.w).dims)
        return std::optional<Dims>();
    const Dims &x = *in.type(inputs.x).dims, &w = *in.type(inputs.w).dims;
    if (x.size() < 3 || x.size() != w.size())
        return pairError(in, inputs.x, inputs.w, "do not fit: both must have the same rank of at least 3");
    TS_TRY(checkKernelShape(in, inputs, w));
    TS_TRY(checkChannels(in, inputs, x, w));
    TS_TRY(checkBias(in, inputs, w));
    const Result<Dims> positions = spatialDims(in, x, w);
    if (!positions.ok())
        return pairError(in, inputs.x, inputs.w, "do not fit: " + positions.error().message);
    Dims dims{x[0], w[0]};
    dims.insert(dims.end(), positions->begin(), positions->end());
    return std::optional<Dims>(std::move(dims));
}

Stage convStage(const LowerContext& context, const WindowGeometry& g, const ConvSizes& s, DType type,
                const ConvOperand& x, const ConvOperand& w) {
    Shape extents{s.inPerGroup};
    for (const Window& window : g.dims)
        extents.push_back(window.kernel);
    return reduce("conv", type, context.outputShape(), Reduction::sum, extents,
                  [&](const Indices& o, const Indices& r) {
                      Indices at{o[0], channelOf(s, o[1], r[0])}, weight{o[1]}, taps;
                      weight.insert(weight.end(), r.begin(), r.end());
                      for (std::size_t d = 0; d < g.rank(); ++d)
                          taps.push_back(tapIndex(g.dims[d], o[d + 2], r[d + 1]));
                      at.insert(at.end(), taps.begin(), taps.end());
                      return ReductionBody{x(at) * w(weight), tapGuard(g, taps)};
                  });
}

} // namespace tunesmith::ops
