// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/kernel.h"
#include "core/ops/rules.h"

// Pooling of regions of interest: RoiAlign (He et al., 2017) samples between elements, MaxRoiPool (Girshick, 2015)
// takes whole ones.
namespace tunesmith::ops {
namespace {

constexpr std::int64_t kMostPooled = std::int64_t{1} << 20;    // extents of the result
constexpr double kMostAlong = 1 << 20, kMostSamples = 1 << 26; // of one region, along an axis and in all

Status requireMatrix(const OpInputs& in, std::size_t index, std::int64_t columns) {
    const auto& dims = in.type(index).dims;
    if (!dims || (dims->size() == 2 && mergeEqual((*dims)[1], Dim(columns))))
        return {};
    return in.error("input " + in.type(index).text() + " must have " + std::to_string(columns) +
                    " numbers for each region");
}

Status requireImages(const OpInputs& in) {
    if (in.type(0).dims && in.type(0).dims->size() != 4)
        return in.error("input " + in.type(0).text() + " must be images [N, C, H, W]");
    return {};
}

Status inferPooled(InferContext& in, std::int64_t height, std::int64_t width) {
    if (height < 1 || width < 1 || height > kMostPooled || width > kMostPooled)
        return in.error("cannot make regions of " + std::to_string(height) + "x" + std::to_string(width));
    in.outputs[0] = TensorType(in.type(0).dtype);
    Dims dims{Dim(), Dim(), Dim(height), Dim(width)};
    if (in.type(1).dims)
        dims[0] = in.type(1).dims->front();
    if (in.type(0).dims)
        dims[1] = (*in.type(0).dims)[1];
    in.outputs[0].dims = std::move(dims);
    return {};
}

struct AlignAttributes {
    bool max, halfPixel;
    std::int64_t height, width, samplingRatio;
    double scale;
    AlignAttributes(const Node& node, std::int64_t opset)
        : max(node.stringAttr("mode", "avg") == "max"),
          halfPixel(node.stringAttr("coordinate_transformation_mode",
                                    opset < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel"),
          height(node.intAttr("output_height", 1)), width(node.intAttr("output_width", 1)),
          samplingRatio(node.intAttr("sampling_ratio", 0)), scale(node.floatAttr("spatial_scale", 1)) {}
};

Status checkWords(const OpInputs& in) {
    const std::string mode = in.node.stringAttr("mode", "avg");
    const std::string coordinates = in.node.stringAttr("coordinate_transformation_mode", "half_pixel");
    if (mode != "avg" && mode != "max")
        return in.error("mode must be avg or max, not '" + mode + "'");
    if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
        return in.error("coordinate_transformation_mode must be half_pixel or output_half_pixel, not '" + coordinates +
                        "'");
    if (in.node.intAttr("sampling_ratio", 0) < 0)
        return in.error("sampling_ratio cannot be negative");
    return {};
}

Status inferRoiAlign(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireSameType(in, 0, 1));
    TS_TRY(requireType(
        in, 2, [](DType type) { return type == DType::i64; }, "int64"));
    TS_TRY(checkWords(in));
    TS_TRY(requireImages(in));
    TS_TRY(requireMatrix(in, 1, 4));
    if (in.type(2).dims && (in.type(2).dims->size() != 1 ||
                            (in.type(1).dims && !mergeEqual(in.type(2).dims->front(), in.type(1).dims->front()))))
        return pairError(in, 1, 2, "do not fit: each region belongs to one image");
    const AlignAttributes a(in.node, in.opset);
    return inferPooled(in, a.height, a.width);
}

// Where the samples of one region lie along one axis, computed in the type of the corners and in ONNX Runtime's order of
// operations: rounding decides how many samples a region gets, and whether one at the border is inside.
template <class T> struct RegionAxis {
    T start, bin; // of the region, and the size of one output element
    std::int64_t samples;
    double at(std::int64_t element, std::int64_t sample) const {
        const T within = (static_cast<T>(sample) + T{0.5F}) * bin / static_cast<T>(samples);
        return static_cast<double>(start + static_cast<T>(element) * bin + within);
    }
};

template <class T> RegionAxis<T> regionAxis(const AlignAttributes& a, T from, T to, std::int64_t pooled) {
    const T offset = a.halfPixel ? T{0.5F} : T{}, scale = static_cast<T>(a.scale);
    const T start = from * scale - offset, end = to * scale - offset;
    const T length = a.halfPixel ? end - start : std::max(end - start, T{1});
    const T bin = length / static_cast<T>(pooled);
    constexpr T kMost = 1e9F;
    const auto adaptive = static_cast<std::int64_t>(std::ceil(bin > T{} ? std::min(bin, kMost) : T{}));
    return {start, bin, a.samplingRatio > 0 ? a.samplingRatio : adaptive};
}

// Four neighbours of a position and their weights; none outside of the image.
struct Neighbours {
    std::int64_t low, high;
    double weight; // of `high`
    bool inside;
};
Neighbours neighboursOf(double at, std::int64_t extent) {
    if (!(at >= -1 && at <= static_cast<double>(extent)))
        return {0, 0, 0, false};
    at = std::max(at, 0.0);
    const auto low = static_cast<std::int64_t>(at);
    if (low >= extent - 1)
        return {extent - 1, extent - 1, 0, true};
    return {low, low + 1, at - static_cast<double>(low), true};
}

// One output element: the average of all samples, or the largest of their weighted neighbours as ONNX Runtime takes it.
template <class T>
double pooledSample(const T* plane, std::int64_t width, const std::vector<Neighbours>& rows,
                    const std::vector<Neighbours>& columns, bool max) {
    double sum = 0, most = -std::numeric_limits<double>::infinity();
    for (const Neighbours& y : rows)
        for (const Neighbours& x : columns) {
            double parts[4] = {0, 0, 0, 0};
            if (y.inside && x.inside) {
                const auto value = [&](std::int64_t i, std::int64_t j) {
                    return static_cast<double>(plane[i * width + j]);
                };
                parts[0] = (1 - y.weight) * (1 - x.weight) * value(y.low, x.low);
                parts[1] = (1 - y.weight) * x.weight * value(y.low, x.high);
                parts[2] = y.weight * (1 - x.weight) * value(y.high, x.low);
                parts[3] = y.weight * x.weight * value(y.high, x.high);
            }
            sum += parts[0] + parts[1] + parts[2] + parts[3];
            most = std::max(most, *std::max_element(parts, parts + 4));
        }
    const auto count = static_cast<double>(rows.size() * columns.size());
    if (count == 0)
        return 0;
    return max ? most : sum / count;
}

template <class T>
std::vector<std::vector<Neighbours>> neighboursAlong(const RegionAxis<T>& axis, std::int64_t pooled, std::int64_t extent) {
    std::vector<std::vector<Neighbours>> all(static_cast<std::size_t>(pooled));
    for (std::int64_t element = 0; element < pooled; ++element)
        for (std::int64_t sample = 0; sample < axis.samples; ++sample)
            all[static_cast<std::size_t>(element)].push_back(neighboursOf(axis.at(element, sample), extent));
    return all;
}

template <class T> Status align(EvalContext& context, const AlignAttributes& a) {
    const Tensor& x = context.input(0);
    const std::int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
    T* y = context.outputs[0].mutableData<T>().data();
    for (std::int64_t region = 0; region < context.input(1).shape()[0]; ++region) {
        const T* const corners = context.input(1).data<T>().data() + region * 4;
        const std::int64_t image = context.input(2).data<std::int64_t>()[static_cast<std::size_t>(region)];
        if (image < 0 || image >= x.shape()[0])
            return context.error("region " + std::to_string(region) + " belongs to image " + std::to_string(image) +
                                 " of " + std::to_string(x.shape()[0]));
        const RegionAxis<T> vertical = regionAxis(a, corners[1], corners[3], a.height);
        const RegionAxis<T> horizontal = regionAxis(a, corners[0], corners[2], a.width);
        const double down = static_cast<double>(vertical.samples) * static_cast<double>(a.height);
        const double across = static_cast<double>(horizontal.samples) * static_cast<double>(a.width);
        if (down > kMostAlong || across > kMostAlong || down * across > kMostSamples)
            return context.error("region " + std::to_string(region) + " is too large to be sampled at every element");
        const auto rows = neighboursAlong(vertical, a.height, height),
                   columns = neighboursAlong(horizontal, a.width, width);
        for (std::int64_t c = 0; c < channels; ++c) {
            const T* const plane = x.data<T>().data() + (image * channels + c) * height * width;
            for (const auto& row : rows)
                for (const auto& column : columns)
                    *y++ = static_cast<T>(height * width > 0 ? pooledSample(plane, width, row, column, a.max) : 0);
        }
    }
    return {};
}

Status evalRoiAlign(EvalContext& context) {
    const AlignAttributes a(context.node, context.opset);
    return context.outputs[0].type() == DType::f64 ? align<double>(context, a) : align<float>(context, a);
}

Status inferMaxRoiPool(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireSameType(in, 0, 1));
    TS_TRY(requireImages(in));
    TS_TRY(requireMatrix(in, 1, 5));
    const Shape pooled = in.node.intsAttr("pooled_shape");
    if (pooled.size() != 2)
        return in.error("pooled_shape must have two numbers");
    return inferPooled(in, pooled[0], pooled[1]);
}

// The elements [first, last) of an axis that output element `at` covers.
struct Cells {
    std::int64_t first, last;
};
// Computed in the type of the corners, as ONNX Runtime does: rounding decides which elements a cell has.
template <class T>
Cells cellsOf(T from, T to, T scale, std::int64_t at, std::int64_t pooled, std::int64_t extent) {
    const T start = std::round(from * scale), length = std::max(std::round(to * scale) - start + 1, T{1});
    const T bin = length / static_cast<T>(pooled);
    const auto inside = [&](T position) {
        const auto place = static_cast<double>(position) + static_cast<double>(start);
        return static_cast<std::int64_t>(place > 0 ? std::min(place, static_cast<double>(extent)) : 0.0);
    };
    return {inside(std::floor(static_cast<T>(at) * bin)), inside(std::ceil(static_cast<T>(at + 1) * bin))};
}

template <class T> T largest(const T* plane, std::int64_t width, const Cells& rows, const Cells& columns) {
    if (rows.first >= rows.last || columns.first >= columns.last)
        return 0;
    T most = std::numeric_limits<T>::lowest();
    for (std::int64_t i = rows.first; i < rows.last; ++i)
        most = std::max(most, *std::max_element(plane + i * width + columns.first, plane + i * width + columns.last));
    return most;
}

template <class T> Status poolRegions(EvalContext& context) {
    const Tensor& x = context.input(0);
    const std::int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
    const Shape pooled = context.node.intsAttr("pooled_shape");
    const auto scale = static_cast<T>(context.node.floatAttr("spatial_scale", 1));
    T* y = context.outputs[0].mutableData<T>().data();
    for (std::int64_t region = 0; region < context.input(1).shape()[0]; ++region) {
        const T* const roi = context.input(1).data<T>().data() + region * 5;
        if (!(roi[0] >= 0 && static_cast<double>(roi[0]) < static_cast<double>(x.shape()[0])))
            return context.error("region " + std::to_string(region) + " belongs to no image");
        for (std::int64_t c = 0; c < channels; ++c) {
            const T* const plane =
                x.data<T>().data() + (static_cast<std::int64_t>(roi[0]) * channels + c) * height * width;
            for (std::int64_t i = 0; i < pooled[0]; ++i)
                for (std::int64_t j = 0; j < pooled[1]; ++j)
                    *y++ = largest(plane, width, cellsOf(roi[2], roi[4], scale, i, pooled[0], height),
                                   cellsOf(roi[1], roi[3], scale, j, pooled[1], width));
        }
    }
    return {};
}

Status evalMaxRoiPool(EvalContext& context) {
    return context.outputs[0].type() == DType::f64 ? poolRegions<double>(context) : poolRegions<float>(context);
}

} // namespace

void registerRoi(OperatorList& list) {
    addOperator(list, "RoiAlign", Fusion::opaque, 10, {3, 3}, inferRoiAlign, evalRoiAlign);
    list.back().steps = [](const OpInputs&) { return std::numeric_limits<double>::infinity(); }; // the regions say how many
    addOperator(list, "MaxRoiPool", Fusion::opaque, 1, {2, 2}, inferMaxRoiPool, evalMaxRoiPool);
}

} // namespace tunesmith::ops
