// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/movement.h"

namespace tunesmith::ops {

// Positions as ONNX Runtime computes them: align_corners counts with whole extents also where a scale does not hit one.

// What Resize and Upsample do along one axis: output position i reads the input around slope * i + offset.
struct ResizeAxis {
    std::int64_t from = 0, to = 0; // extents
    double slope = 1, offset = 0;
    double stretch = 1; // of the filter under antialias: above 1 where the axis shrinks
    bool trivial() const { return from == to && slope == 1 && offset == 0; }
};

enum class ResizeMode { nearest, linear, cubic };
enum class NearestMode { roundPreferFloor, roundPreferCeil, floor, ceil, simple };

struct ResizePlan {
    ResizeMode mode = ResizeMode::nearest;
    NearestMode nearest = NearestMode::roundPreferFloor;
    double cubicCoefficient = -0.75;
    bool excludeOutside = false;
    bool antialias = false;
    bool crops = false; // tf_crop_and_resize: what lies outside is extrapolated
    double extrapolation = 0;
    std::vector<ResizeAxis> axes;
};

// Output dimensions, as far as they are known.
Status inferResize(InferContext& in);
// Of concrete shapes and known scales or sizes.
Result<ResizePlan> resizePlan(const OpInputs& in, const Shape& shape);

// The input element that output i takes under `nearest`, or -1 where it is extrapolated.
std::vector<std::int64_t> nearestMap(const ResizePlan& plan, const ResizeAxis& axis);

// The weighted input elements that make up output i otherwise. No taps where it is extrapolated.
struct Tap {
    std::int64_t index;
    double weight;
};
std::vector<std::vector<Tap>> resizeTaps(const ResizePlan& plan, const ResizeAxis& axis);

// floor((2 * numerator * i + bias) / (2 * denominator)), clamped to the axis, gives the map; nullopt when nothing does.
struct NearestFormula {
    std::int64_t numerator = 1, denominator = 1, bias = 0;
    bool clamped = false;
};
std::optional<NearestFormula> nearestFormula(const std::vector<std::int64_t>& map, const ResizeAxis& axis);

} // namespace tunesmith::ops
