// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/resize_plan.h"

#include <algorithm>
#include <cmath>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

constexpr std::int64_t kLongestAxis = std::int64_t{1} << 24; // each element has a place in a table
constexpr std::int64_t kMostBiases = std::int64_t{1} << 16;  // tried for one slope

bool isLegacy(const OpInputs& in) { return in.node.op == "Upsample" || in.opset < 11; }

// The factors or extents that a node asks for, one per axis that it names.
struct Request {
    std::vector<double> scales;
    std::vector<std::int64_t> sizes; // wins when it is there
    std::vector<double> roi;
    std::vector<std::size_t> axes;
    bool known = true;
};

bool present(const OpInputs& in, std::size_t index) { // an empty tensor counts as left out
    return in.has(index) && !(in.isConstant(index) && in.constant(index).count() == 0);
}

std::vector<double> doubles(const Tensor& tensor) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor.count(); ++i)
        values.push_back(tensor.asDouble(i));
    return values;
}

Status readScales(const OpInputs& in, std::size_t input, Request& request) {
    if (in.node.has("scales"))
        for (const float scale : in.node.floatsAttr("scales"))
            request.scales.push_back(scale);
    else if (!present(in, input))
        return in.error("has neither scales nor sizes");
    else {
        TS_TRY(requireFloat(in, input));
        if (in.isConstant(input))
            request.scales = doubles(in.constant(input));
        else
            request.known = false;
    }
    for (const double scale : request.scales)
        if (!(scale > 0) || scale > 1e9)
            return in.error("a scale is " + std::to_string(scale));
    return {};
}

Result<Request> requestOf(const OpInputs& in, std::size_t rank) {
    Request request;
    std::vector<std::int64_t> axes = in.node.intsAttr("axes");
    for (std::size_t i = 0; !in.node.has("axes") && i < rank; ++i)
        axes.push_back(static_cast<std::int64_t>(i));
    TS_ASSIGN(request.axes, frontAxes(in, axes, rank));
    if (!isLegacy(in) && present(in, 3)) {
        TS_TRY(requireIndexType(in, 3));
        request.known = in.isConstant(3);
        if (request.known)
            request.sizes = in.constant(3).asInts();
        for (const std::int64_t size : request.sizes)
            if (size < 0)
                return in.error("a size is " + std::to_string(size));
    } else
        TS_TRY(readScales(in, isLegacy(in) ? 1 : 2, request));
    if (in.node.stringAttr("coordinate_transformation_mode") == "tf_crop_and_resize") {
        if (in.has(1))
            TS_TRY(requireFloat(in, 1));
        if (in.isConstant(1))
            request.roi = doubles(in.constant(1));
        if (in.isConstant(1) && request.roi.size() != 2 * request.axes.size())
            return in.error("its region of interest has " + std::to_string(request.roi.size()) + " numbers");
        request.known = request.known && in.isConstant(1);
    }
    const std::size_t given = request.sizes.empty() ? request.scales.size() : request.sizes.size();
    if (request.known && given != request.axes.size())
        return in.error("has " + std::to_string(given) + " scales or sizes for " + std::to_string(request.axes.size()) + " axes");
    return request;
}

// Extent and factor of one axis.
struct Scaled {
    std::int64_t extent;
    double scale;
};
Scaled scaledTo(const OpInputs& in, const Request& request, std::size_t i, const std::vector<std::int64_t>& extents) {
    const auto from = static_cast<double>(extents[i]);
    if (request.sizes.empty())
        return {static_cast<std::int64_t>(std::floor(static_cast<float>(from) * static_cast<float>(request.scales[i]))),
                request.scales[i]};
    const std::string policy = in.node.stringAttr("keep_aspect_ratio_policy", "stretch");
    double scale = static_cast<double>(request.sizes[i]) / std::max(from, 1.0);
    if (policy == "stretch")
        return {request.sizes[i], scale};
    for (std::size_t k = 0; k < extents.size(); ++k) {
        const double other = static_cast<double>(request.sizes[k]) / std::max(static_cast<double>(extents[k]), 1.0);
        scale = policy == "not_larger" ? std::min(scale, other) : std::max(scale, other);
    }
    return {static_cast<std::int64_t>(std::floor(scale * from + 0.5)), scale};
}

Status transformAxis(const OpInputs& in, const std::string& mode, double scale, double wanted, ResizeAxis& axis) {
    const auto from = static_cast<double>(axis.from), to = static_cast<double>(axis.to);
    axis.slope = 1 / scale;
    axis.offset = 0;
    if (mode == "half_pixel" || mode == "half_pixel_symmetric" || (mode == "pytorch_half_pixel" && axis.to > 1)) {
        axis.offset = 0.5 / scale - 0.5;
        if (mode == "half_pixel_symmetric")
            axis.offset += from / 2 * (1 - to / wanted);
    } else if (mode == "pytorch_half_pixel")
        axis.slope = 0;
    else if (mode == "align_corners")
        axis.slope = axis.to > 1 ? (from - 1) / (to - 1) : 0;
    else if (mode == "tf_half_pixel_for_nn")
        axis.offset = 0.5 / scale;
    else if (mode != "asymmetric")
        return in.unsupported("the coordinates '" + mode + "' are not supported");
    return {};
}

void cropAxis(double start, double end, ResizeAxis& axis) {
    const auto from = static_cast<double>(axis.from), to = static_cast<double>(axis.to);
    axis.slope = axis.to > 1 ? (end - start) * (from - 1) / (to - 1) : 0;
    axis.offset = axis.to > 1 ? start * (from - 1) : 0.5 * (start + end) * (from - 1);
}

Status readModes(const OpInputs& in, ResizePlan& plan) {
    const std::string mode = in.node.stringAttr("mode", "nearest"), nearest = in.node.stringAttr("nearest_mode");
    if (mode == "linear" || mode == "bilinear")
        plan.mode = ResizeMode::linear;
    else if (mode == "cubic")
        plan.mode = ResizeMode::cubic;
    else if (mode != "nearest")
        return in.unsupported("the mode '" + mode + "' is not supported");
    plan.antialias = in.node.intAttr("antialias", 0) != 0;
    if (plan.antialias && plan.mode == ResizeMode::nearest)
        return in.error("antialias needs the mode linear or cubic");
    if (isLegacy(in))
        plan.nearest = NearestMode::simple;
    else if (nearest == "round_prefer_ceil")
        plan.nearest = NearestMode::roundPreferCeil;
    else if (nearest == "floor")
        plan.nearest = NearestMode::floor;
    else if (nearest == "ceil")
        plan.nearest = NearestMode::ceil;
    else if (!nearest.empty() && nearest != "round_prefer_floor")
        return in.unsupported("the rounding '" + nearest + "' is not supported");
    plan.cubicCoefficient = in.node.floatAttr("cubic_coeff_a", -0.75f);
    plan.excludeOutside = in.node.intAttr("exclude_outside", 0) != 0;
    plan.extrapolation = in.node.floatAttr("extrapolation_value", 0);
    return {};
}

// Positions that are meant to be whole or half numbers must not miss them by rounding.
double positionOf(const ResizeAxis& axis, std::int64_t i) {
    const double exact = axis.slope * static_cast<double>(i) + axis.offset;
    const double halves = std::nearbyint(exact * 2) / 2;
    return std::fabs(exact - halves) < 1e-5 ? halves : exact;
}

bool isOutside(const ResizePlan& plan, const ResizeAxis& axis, double position) {
    return plan.crops && (position < 0 || position > static_cast<double>(axis.from - 1));
}

double rounded(const ResizePlan& plan, const ResizeAxis& axis, double position) {
    switch (plan.nearest) {
    case NearestMode::roundPreferFloor: return std::ceil(position - 0.5);
    case NearestMode::roundPreferCeil: return std::floor(position + 0.5);
    case NearestMode::ceil: return std::ceil(position);
    case NearestMode::simple: return axis.slope > 1 ? std::ceil(position) : std::floor(position);
    default: return std::floor(position);
    }
}

std::vector<double> cubicWeights(double a, double t) { // Keys, 1981
    return {((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a, ((a + 2) * t - (a + 3)) * t * t + 1,
            ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1,
            ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a};
}

// The filter that cubicWeights() and the linear weights sample, at a distance from its middle.
double filterAt(const ResizePlan& plan, double distance) {
    const double t = std::fabs(distance), a = plan.cubicCoefficient;
    if (plan.mode == ResizeMode::linear)
        return std::max(1 - t, 0.0);
    if (t >= 2)
        return 0;
    return t <= 1 ? ((a + 2) * t - (a + 3)) * t * t + 1 : ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
}

// Where an axis shrinks, the filter is stretched over all elements that fall on one output element.
std::vector<Tap> stretchedTaps(const ResizePlan& plan, const ResizeAxis& axis, double position) {
    const double reach = (plan.mode == ResizeMode::cubic ? 2 : 1) * axis.stretch;
    const std::int64_t last = axis.from - 1;
    std::vector<Tap> taps;
    double total = 0;
    for (double at = std::ceil(position - reach); at <= position + reach; ++at) {
        const bool outside = at < 0 || at > static_cast<double>(last);
        const double weight = filterAt(plan, (at - position) / axis.stretch);
        if (weight == 0 || (plan.excludeOutside && outside))
            continue;
        taps.push_back({std::clamp<std::int64_t>(static_cast<std::int64_t>(at), 0, last), weight});
        total += weight;
    }
    for (Tap& tap : taps)
        tap.weight /= total != 0 ? total : 1;
    return taps;
}

std::vector<Tap> tapsAt(const ResizePlan& plan, const ResizeAxis& axis, double position) {
    if (plan.antialias && axis.stretch > 1)
        return stretchedTaps(plan, axis, position);
    const std::int64_t last = axis.from - 1;
    const double base = std::floor(position);
    const bool cubic = plan.mode == ResizeMode::cubic;
    const std::vector<double> weights = cubic ? cubicWeights(plan.cubicCoefficient, position - base)
                                              : std::vector<double>{1 - (position - base), position - base};
    std::vector<Tap> taps;
    double total = 0;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        const std::int64_t index = static_cast<std::int64_t>(base) + static_cast<std::int64_t>(k) - (cubic ? 1 : 0);
        const bool outside = index < 0 || index > last;
        if (cubic && plan.excludeOutside && outside)
            continue;
        taps.push_back({std::clamp<std::int64_t>(index, 0, last), weights[k]});
        total += weights[k];
    }
    for (Tap& tap : taps)
        tap.weight /= cubic && plan.excludeOutside && total != 0 ? total : 1;
    return taps;
}

} // namespace

Status inferResize(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    ResizePlan plan;
    TS_TRY(readModes(in, plan));
    if (plan.mode != ResizeMode::nearest)
        TS_TRY(requireNumeric(in, 0));
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    TS_ASSIGN(const Request request, requestOf(in, dims.size()));
    std::vector<std::int64_t> extents;
    bool known = request.known;
    for (const std::size_t axis : request.axes) {
        extents.push_back(dims[axis].extent);
        known = known && (dims[axis].known() || request.sizes.empty());
    }
    for (std::size_t i = 0; i < request.axes.size(); ++i) {
        Dim& dim = dims[request.axes[i]];
        if (known && dim.known())
            dim = scaledTo(in, request, i, extents).extent;
        else if (request.known && !request.sizes.empty() && !in.node.has("keep_aspect_ratio_policy"))
            dim = request.sizes[i];
        else if (!known || request.scales[i] != 1)
            dim = Dim();
        if (dim.known() && extents[i] == 0 && dim.extent > 0)
            return in.error("cannot resize an empty dimension of " + in.type(0).text());
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

Result<ResizePlan> resizePlan(const OpInputs& in, const Shape& shape) {
    ResizePlan plan;
    TS_TRY(readModes(in, plan));
    TS_ASSIGN(const Request request, requestOf(in, shape.size()));
    if (!request.known)
        return in.unsupported("its scales or sizes are not known before the model runs");
    const std::string mode = isLegacy(in) ? "asymmetric" : in.node.stringAttr("coordinate_transformation_mode", "half_pixel");
    plan.crops = mode == "tf_crop_and_resize";
    plan.axes.resize(shape.size());
    std::vector<std::int64_t> extents;
    for (std::size_t d = 0; d < shape.size(); ++d)
        plan.axes[d].from = plan.axes[d].to = shape[d];
    for (const std::size_t d : request.axes)
        extents.push_back(shape[d]);
    for (std::size_t i = 0; i < request.axes.size(); ++i) {
        ResizeAxis& axis = plan.axes[request.axes[i]];
        const Scaled scaled = scaledTo(in, request, i, extents);
        axis.to = scaled.extent;
        if (axis.to > kLongestAxis && axis.to != axis.from)
            return in.error("makes an axis of " + std::to_string(axis.to) + " elements, and at most " + std::to_string(kLongestAxis) +
                            " are computed");
        axis.stretch = std::max(1 / scaled.scale, 1.0);
        if (plan.crops)
            cropAxis(request.roi[i], request.roi[i + request.axes.size()], axis);
        else if (scaled.scale != 1 || axis.to != axis.from)
            TS_TRY(transformAxis(in, mode, scaled.scale, scaled.scale * static_cast<double>(axis.from), axis));
    }
    return plan;
}

std::vector<std::int64_t> nearestMap(const ResizePlan& plan, const ResizeAxis& axis) {
    std::vector<std::int64_t> map;
    for (std::int64_t i = 0; i < axis.to; ++i) {
        const double position = positionOf(axis, i);
        const double index = std::clamp(rounded(plan, axis, position), 0.0, static_cast<double>(axis.from - 1));
        map.push_back(isOutside(plan, axis, position) ? -1 : static_cast<std::int64_t>(index));
    }
    return map;
}

std::vector<std::vector<Tap>> resizeTaps(const ResizePlan& plan, const ResizeAxis& axis) {
    std::vector<std::vector<Tap>> taps;
    for (std::int64_t i = 0; i < axis.to; ++i) {
        const double position = positionOf(axis, i);
        taps.push_back(isOutside(plan, axis, position) ? std::vector<Tap>() : tapsAt(plan, axis, position));
    }
    return taps;
}

std::optional<NearestFormula> nearestFormula(const std::vector<std::int64_t>& map, const ResizeAxis& axis) {
    const auto floorDiv = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); };
    const auto fits = [&](NearestFormula& formula) {
        formula.clamped = false;
        for (std::size_t i = 0; i < map.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            const std::int64_t index = floorDiv(2 * formula.numerator * at + formula.bias, 2 * formula.denominator);
            const std::int64_t inside = std::clamp<std::int64_t>(index, 0, axis.from - 1);
            formula.clamped = formula.clamped || inside != index;
            if (inside != map[i])
                return false;
        }
        return true;
    };
    for (std::int64_t denominator = 1; denominator <= 4096; ++denominator) {
        const double exact = axis.slope * static_cast<double>(denominator);
        const auto numerator = static_cast<std::int64_t>(std::nearbyint(exact));
        if (std::fabs(exact - static_cast<double>(numerator)) > 1e-6 * std::max(exact, 1.0))
            continue;
        std::optional<NearestFormula> found;
        if (numerator > kMostBiases)
            return std::nullopt;
        const std::int64_t reach = 2 * (denominator + numerator);
        for (std::int64_t bias = -reach; bias <= reach; ++bias) {
            NearestFormula formula{numerator, denominator, bias, false};
            if (fits(formula) && (!found || (found->clamped && !formula.clamped) ||
                                  (found->clamped == formula.clamped && std::abs(bias) < std::abs(found->bias))))
                found = formula;
        }
        return found;
    }
    return std::nullopt;
}

} // namespace tunesmith::ops
