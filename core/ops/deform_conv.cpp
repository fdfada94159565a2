// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/base/scratch.h"
#include "core/ops/convolution.h"
#include "core/ops/rules.h"

// DeformConv: a convolution of images whose taps are moved by offsets [N, groups * taps * 2, H, W], read between
// elements, and weighted by a mask [N, groups * taps, H, W] (Zhu et al., 2019). Inputs: x, w, offset, bias, mask.
namespace tunesmith::ops {
namespace {

constexpr std::size_t kOffset = 2, kBias = 3, kMask = 4;

std::int64_t offsetGroups(const Node& node) {
    return node.intAttr("offset_group", 1);
}

// What offset or mask must be for one result.
Status checkField(const InferContext& in, std::size_t index, std::int64_t perTap, const Dims& out) {
    if (!in.has(index) || !in.type(index).dims)
        return {};
    const Dims& w = *in.type(1).dims;
    Dim channels;
    std::int64_t product = 0;
    if (w[2].known() && w[3].known() && !__builtin_mul_overflow(w[2].extent, w[3].extent, &product) &&
        !__builtin_mul_overflow(product, offsetGroups(in.node), &product) &&
        !__builtin_mul_overflow(product, perTap, &product))
        channels = Dim(product);
    const Dims wanted{out[0], channels, out[2], out[3]};
    const Dims& dims = *in.type(index).dims;
    bool fits = dims.size() == 4;
    for (std::size_t d = 0; fits && d < 4; ++d)
        fits = mergeEqual(dims[d], wanted[d]).has_value();
    if (fits)
        return {};
    return in.error("input " + std::to_string(index) + " is " + in.type(index).text() + " but must be " +
                    TensorType(in.type(index).dtype, wanted).text());
}

Status inferDeformConv(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    for (std::size_t i = 1; i < in.count(); ++i)
        if (in.has(i))
            TS_TRY(requireSameType(in, 0, i));
    in.outputs[0] = TensorType(in.type(0).dtype);
    const std::int64_t groups = offsetGroups(in.node);
    if (groups < 1 || groups > 1 << 20)
        return in.error("offset_group must be at least 1, not " + std::to_string(groups));
    if (in.type(0).dims && in.type(0).dims->size() != 4)
        return in.unsupported("only images [N, C, H, W] are supported, not " + in.type(0).text());
    if (in.type(0).dims && (*in.type(0).dims)[1].known() && (*in.type(0).dims)[1].extent % groups != 0)
        return in.error(std::to_string((*in.type(0).dims)[1].extent) + " channels cannot be split into " +
                        std::to_string(groups) + " groups of offsets");
    TS_ASSIGN(in.outputs[0].dims, convDims(in, {0, 1, kBias}));
    if (!in.outputs[0].dims)
        return {};
    TS_TRY(checkField(in, kOffset, 2, *in.outputs[0].dims));
    return checkField(in, kMask, 1, *in.outputs[0].dims);
}

// A value between four elements; zero outside.
template <class T> double bilinear(const T* plane, std::int64_t height, std::int64_t width, double y, double x) {
    if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width)))
        return 0;
    const double top = std::floor(y), left = std::floor(x);
    double sum = 0;
    for (int corner = 0; corner < 4; ++corner) {
        const auto i = static_cast<std::int64_t>(top) + corner / 2, j = static_cast<std::int64_t>(left) + corner % 2;
        if (i < 0 || i >= height || j < 0 || j >= width)
            continue;
        const double down = y - top, right = x - left;
        sum += (corner / 2 ? down : 1 - down) * (corner % 2 ? right : 1 - right) *
               static_cast<double>(plane[i * width + j]);
    }
    return sum;
}

// The moved and masked taps of all channels of one image: [C, taps, positions], what a convolution multiplies.
template <class T> Scratch<T> movedTaps(const EvalContext& context, const WindowGeometry& g, std::int64_t image) {
    const Tensor& x = context.input(0);
    const Shape& w = context.input(1).shape();
    const std::int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3], taps = w[2] * w[3];
    const std::int64_t positions = elementCount(g.output), groups = offsetGroups(context.node);
    const T* const offsets = context.input(kOffset).data<T>().data() + image * groups * taps * 2 * positions;
    const T* const masks =
        context.has(kMask) ? context.input(kMask).data<T>().data() + image * groups * taps * positions : nullptr;
    Scratch<T> moved(static_cast<std::size_t>(channels * taps * positions));
    auto to = moved.begin();
    for (std::int64_t c = 0; c < channels; ++c) {
        const T* const plane = x.data<T>().data() + (image * channels + c) * height * width;
        const std::int64_t first = c / (channels / groups) * taps;
        for (std::int64_t tap = 0; tap < taps; ++tap)
            for (std::int64_t p = 0; p < positions; ++p) {
                const Window &vertical = g.dims[0], &horizontal = g.dims[1];
                const std::int64_t i =
                    p / g.output[1] * vertical.stride + tap / w[3] * vertical.dilation - vertical.padBegin;
                const std::int64_t j =
                    p % g.output[1] * horizontal.stride + tap % w[3] * horizontal.dilation - horizontal.padBegin;
                const auto down = static_cast<double>(offsets[((first + tap) * 2) * positions + p]);
                const auto right = static_cast<double>(offsets[((first + tap) * 2 + 1) * positions + p]);
                const double mask = masks ? static_cast<double>(masks[(first + tap) * positions + p]) : 1;
                *to++ = static_cast<T>(mask * bilinear(plane, height, width, static_cast<double>(i) + down,
                                                       static_cast<double>(j) + right));
            }
    }
    return moved;
}

template <class T> void convolveMoved(EvalContext& context, const WindowGeometry& g, const ConvSizes& s) {
    const T* const w = context.input(1).data<T>().data();
    const std::int64_t outputs = s.group * s.outPerGroup, depth = s.inPerGroup * s.taps;
    for (std::int64_t image = 0; image < s.batch; ++image) {
        const Scratch<T> moved = movedTaps<T>(context, g, image);
        T* const y = context.outputs[0].mutableData<T>().data() + image * outputs * s.outPositions;
        for (std::int64_t m = 0; context.has(kBias) && m < outputs; ++m)
            std::fill_n(y + m * s.outPositions, s.outPositions,
                        context.input(kBias).data<T>()[static_cast<std::size_t>(m)]);
        for (std::int64_t group = 0; group < s.group; ++group)
            multiplyAccumulate<T>(s.outPerGroup, s.outPositions, depth, w + group * s.outPerGroup * depth, depth, 1,
                                  moved.data() + group * depth * s.outPositions, s.outPositions,
                                  y + group * s.outPerGroup * s.outPositions, s.outPositions);
    }
}

Status evalDeformConv(EvalContext& context) {
    const Shape &x = context.input(0).shape(), &w = context.input(1).shape();
    TS_ASSIGN(const WindowGeometry geometry, convGeometry(context.node, x, w));
    const ConvSizes sizes(geometry, x, w, context.node.intAttr("group", 1));
    if (context.outputs[0].type() == DType::f64)
        convolveMoved<double>(context, geometry, sizes);
    else
        convolveMoved<float>(context, geometry, sizes);
    return {};
}

} // namespace

void registerDeformConv(OperatorList& list) {
    addOperator(list, "DeformConv", Fusion::opaque, 19, {3, 5}, inferDeformConv, evalDeformConv);
}

} // namespace tunesmith::ops
