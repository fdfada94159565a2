// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/contrib/contrib.h"

// CropAndResize: boxes [y1, x1, y2, x2] of images [N, C, H, W] as pieces of one size. Boxes are shares of an
// image, 1 being the centre of its last row or column, and corners of boxes and pieces lie on each other.
// Points outside of an image are extrapolation_value.
namespace tunesmith::ops {
namespace {

enum CropInput : std::size_t { kImages, kBoxes, kImageOf, kCropSize };

Status checkCrop(const OpInputs& in) {
    TS_TRY(requireFloat(in, kImages));
    TS_TRY(requireSameType(in, kImages, kBoxes));
    for (const std::size_t i : {kImageOf, kCropSize})
        TS_TRY(requireInt32(in, i));
    const std::string mode = in.node.stringAttr("mode", "bilinear");
    if (mode != "bilinear" && mode != "nearest")
        return in.error("mode must be bilinear or nearest, not '" + mode + "'");
    TS_TRY(requireRank(in, kImages, 4, "images [N, C, H, W]"));
    const Dim boxes = dimOf(in, kBoxes, 0).value_or(Dim());
    TS_TRY(requireDims(in, kBoxes, {Dim(), Dim(4)}, "four numbers for each box"));
    TS_TRY(requireDims(in, kImageOf, {boxes}, "one image for each box"));
    return requireDims(in, kCropSize, {Dim(2)}, "height and width");
}

Status inferCrop(InferContext& in) {
    TS_TRY(checkCrop(in));
    in.outputs[0] = TensorType(in.type(kImages).dtype);
    Dims dims{dimOf(in, kBoxes, 0).value_or(Dim()), dimOf(in, kImages, 1).value_or(Dim()), Dim(), Dim()};
    if (in.isConstant(kCropSize))
        for (std::int64_t d = 0; d < 2; ++d) {
            const std::int64_t extent = in.constant(kCropSize).asInt(d);
            constexpr std::int64_t kMost = 1 << 20;
            if (extent < 1 || extent > kMost)
                return in.error("cannot make pieces of the extent " + std::to_string(extent));
            dims[static_cast<std::size_t>(d) + 2] = Dim(extent);
        }
    in.outputs[0].dims = std::move(dims);
    return {};
}

// Where the elements of a piece lie in an image, along one axis.
struct CropAxis {
    float start, end;
    std::int64_t extent, pieces;
    float at(std::int64_t i) const {
        const auto last = static_cast<float>(extent - 1);
        if (pieces == 1)
            return 0.5F * (start + end) * last;
        if (i == pieces - 1)
            return end * last;
        return start * last + static_cast<float>(i) * ((end - start) * last / static_cast<float>(pieces - 1));
    }
    bool inside(float place) const { return place >= 0 && place <= static_cast<float>(extent - 1); }
    // Of a place inside; float32 rounds large extents up.
    std::int64_t index(float place) const { return std::min(static_cast<std::int64_t>(place), extent - 1); }
};

class CropSampler {
public:
    CropSampler(const EvalContext& context, std::int64_t box)
        : nearest_(context.node.stringAttr("mode", "bilinear") == "nearest"),
          outside_(context.node.floatAttr("extrapolation_value", 0)) {
        const Shape &images = context.input(kImages).shape(), &out = context.outputs[0].shape();
        const auto corner = [&](std::int64_t i) {
            return static_cast<float>(context.input(kBoxes).asDouble(box * 4 + i));
        };
        y_ = {corner(0), corner(2), images[2], out[2]};
        x_ = {corner(1), corner(3), images[3], out[3]};
    }

    template <class T> double sample(const T* plane, std::int64_t row, std::int64_t column) const {
        const float y = y_.at(row), x = x_.at(column);
        if (!y_.inside(y) || !x_.inside(x))
            return outside_;
        const auto element = [&](float atY, float atX) {
            return static_cast<double>(plane[y_.index(atY) * x_.extent + x_.index(atX)]);
        };
        if (nearest_)
            return element(std::round(y), std::round(x));
        const float top = std::floor(y), left = std::floor(x), bottom = std::ceil(y), right = std::ceil(x);
        const double down = y - top, across = x - left;
        const double above = element(top, left) + (element(top, right) - element(top, left)) * across;
        const double below =
            element(bottom, left) + (element(bottom, right) - element(bottom, left)) * across;
        return above + (below - above) * down;
    }

private:
    bool nearest_;
    double outside_;
    CropAxis y_{}, x_{};
};

Status evalCrop(EvalContext& context) {
    const Tensor& images = context.input(kImages);
    const Shape &from = images.shape(), &out = context.outputs[0].shape();
    const std::int64_t plane = from[2] * from[3], piece = out[2] * out[3];
    for (std::int64_t box = 0; box < out[0]; ++box) {
        const std::int64_t image = context.input(kImageOf).asInt(box);
        if (image < 0 || image >= from[0])
            return context.error("box " + std::to_string(box) + " is of image " + std::to_string(image) +
                                 ", but there are " + std::to_string(from[0]));
        const CropSampler sampler(context, box);
        visitFloat(images.type(), [&](auto tag) {
            using T = decltype(tag);
            for (std::int64_t i = 0; i < out[1] * piece; ++i)
                context.outputs[0].mutableData<T>()[box * out[1] * piece + i] = static_cast<T>(
                    sampler.sample(images.data<T>().data() + (image * from[1] + i / piece) * plane,
                                   i % piece / out[3], i % out[3]));
        });
    }
    return {};
}

} // namespace

void registerContribCropAndResize(OperatorList& list) {
    addReference(list, "CropAndResize", {4, 4}, inferCrop, evalCrop);
}

} // namespace tunesmith::ops
