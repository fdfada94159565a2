// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/graph/float_to_int.h"
#include "core/ops/kernel.h"
#include "core/ops/rules.h"
#include "core/ops/window.h"

// GridSample: x [N, C, spatial...] read at the positions grid [N, output..., rank], whose last component belongs to the
// first spatial dimension. Any number of spatial dimensions.
namespace tunesmith::ops {
namespace {

enum class Mode : std::uint8_t { nearest, linear, cubic };
enum class Padding : std::uint8_t { zeros, border, reflection };

struct Sampling {
    Mode mode = Mode::linear;
    Padding padding = Padding::zeros;
    bool alignCorners = false;
};

Result<Sampling> samplingOf(const Node& node) {
    Sampling sampling;
    const std::string mode = node.stringAttr("mode", "linear"), padding = node.stringAttr("padding_mode", "zeros");
    if (mode == "nearest")
        sampling.mode = Mode::nearest;
    else if (mode == "cubic" || mode == "bicubic")
        sampling.mode = Mode::cubic;
    else if (mode != "linear" && mode != "bilinear")
        return inputError("mode must be linear, nearest or cubic (bilinear and bicubic before opset 20), not '" + mode +
                          "'");
    if (padding == "border")
        sampling.padding = Padding::border;
    else if (padding == "reflection")
        sampling.padding = Padding::reflection;
    else if (padding != "zeros")
        return inputError("padding_mode must be zeros, border or reflection, not '" + padding + "'");
    sampling.alignCorners = node.intAttr("align_corners", 0) != 0;
    return sampling;
}

Status inferGridSample(InferContext& in) {
    if (const auto sampling = samplingOf(in.node); !sampling.ok())
        return in.error(sampling.error().message);
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(requireFloat(in, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    const Dims &x = *in.type(0).dims, &grid = *in.type(1).dims;
    if (x.size() < 3 || grid.size() != x.size() ||
        !mergeEqual(grid.back(), Dim(static_cast<std::int64_t>(x.size()) - 2)))
        return pairError(in, 0, 1, "do not fit: a grid has as many dimensions and one number for each spatial one");
    if (x.size() > 8)
        return in.unsupported("images of more than 6 dimensions are not supported, as in " + in.type(0).text());
    const auto batch = mergeEqual(x[0], grid[0]);
    if (!batch)
        return pairError(in, 0, 1, "do not fit: the batches differ");
    for (std::size_t d = 2; d < x.size(); ++d)
        if (x[d].known() && x[d].extent == 0)
            return in.error("input " + in.type(0).text() + " has no elements to sample");
    in.outputs[0].dims = Dims{*batch, x[1]};
    in.outputs[0].dims->insert(in.outputs[0].dims->end(), grid.begin() + 1, grid.end() - 1);
    return {};
}

// Where coordinates between -1 and 1 lie in x, computed in the type of the grid and in ONNX Runtime's order of operations:
// mode nearest decides ties by what is left after rounding.
Tensor positionsOf(const Tensor& grid, const Shape& spatial, bool alignCorners) {
    Tensor positions = Tensor::zeros(grid.type(), grid.shape());
    const std::size_t rank = spatial.size();
    visitFloat(grid.type(), [&](auto tag) {
        using T = decltype(tag);
        const auto from = grid.data<T>();
        const auto to = positions.mutableData<T>();
        for (std::size_t n = 0; n < from.size(); ++n) {
            const std::int64_t extent = spatial[rank - 1 - n % rank];
            to[n] = alignCorners ? (from[n] + 1) / 2 * static_cast<T>(extent - 1) : ((from[n] + 1) * static_cast<T>(extent) - 1) / 2;
        }
    });
    return positions.cast(DType::f64);
}

// Folds a position at the borders until it lies between them.
double reflected(double x, double low, double high) {
    const double range = high - low;
    if (!(range > 0))
        return low;
    const double distance = std::fabs(x - low), turns = std::floor(distance / range), rest = distance - turns * range;
    return std::fmod(turns, 2) == 0 ? low + rest : high - rest;
}

// What one dimension contributes to one output element.
struct AxisTap {
    std::int64_t index; // -1: a zero outside
    double weight;
};

class AxisSampler {
public:
    AxisSampler(const Sampling& sampling, std::int64_t extent)
        : sampling_(sampling), extent_(extent), low_(sampling.alignCorners ? 0 : -0.5),
          high_(static_cast<double>(extent) - (sampling.alignCorners ? 1 : 0.5)) {}

    // Only what is read is moved to the border or reflected, not the position itself.
    std::vector<AxisTap> taps(double position) const {
        constexpr double kFar = 1e9; // what is further away, or not a number, is just outside
        const double at = position > -kFar ? std::min(position, kFar) : -kFar;
        if (sampling_.mode == Mode::nearest)
            return {{indexAt(std::nearbyint(at)), 1}};
        const double base = std::floor(at), t = at - base;
        if (sampling_.mode == Mode::linear)
            return {{indexAt(base), 1 - t}, {indexAt(base + 1), t}};
        return {{indexAt(base - 1), far(t + 1)},
                {indexAt(base), near(t)},
                {indexAt(base + 1), near(1 - t)},
                {indexAt(base + 2), far(2 - t)}};
    }

private:
    static constexpr double kA = -0.75; // Keys, 1981
    static double near(double t) { return ((kA + 2) * t - (kA + 3)) * t * t + 1; }
    static double far(double t) { return ((kA * t - 5 * kA) * t + 8 * kA) * t - 4 * kA; }

    std::int64_t indexAt(double position) const {
        if (position >= 0 && position < static_cast<double>(extent_))
            return static_cast<std::int64_t>(position);
        if (sampling_.padding == Padding::zeros)
            return -1;
        const double inside = sampling_.padding == Padding::reflection ? reflected(position, low_, high_) : position;
        return static_cast<std::int64_t>(std::clamp(inside, 0.0, static_cast<double>(extent_ - 1)));
    }

    Sampling sampling_;
    std::int64_t extent_;
    double low_, high_;
};

// The elements of a plane of x, with their weights, that make up one output element.
std::vector<AxisTap> planeTaps(const std::vector<AxisSampler>& samplers, const Shape& strides,
                               const std::vector<double>& at) {
    std::vector<AxisTap> all{{0, 1}};
    for (std::size_t d = 0; d < samplers.size(); ++d) {
        std::vector<AxisTap> longer;
        for (const AxisTap& tap : samplers[d].taps(at[samplers.size() - 1 - d]))
            for (const AxisTap& before : all)
                if (tap.index >= 0)
                    longer.push_back({before.index + tap.index * strides[d], before.weight * tap.weight});
        all = std::move(longer);
    }
    return all;
}

template <class T> void sample(EvalContext& context, const Sampling& sampling) {
    const Tensor& x = context.input(0);
    const Shape spatial(x.shape().begin() + 2, x.shape().end());
    const Tensor places = positionsOf(context.input(1), spatial, sampling.alignCorners);
    const auto rank = static_cast<std::int64_t>(spatial.size());
    std::vector<AxisSampler> samplers;
    for (const std::int64_t extent : spatial)
        samplers.emplace_back(sampling, extent);
    const Shape strides = rowMajorStrides(spatial);
    const std::int64_t batch = x.shape()[0], channels = x.shape()[1], plane = elementCount(spatial);
    const std::int64_t positions = batch > 0 ? places.count() / rank / batch : 0;
    const T* const from = x.data<T>().data();
    T* const to = context.outputs[0].mutableData<T>().data();
    for (std::int64_t n = 0; n < batch * positions; ++n) {
        std::vector<double> at;
        for (std::int64_t k = 0; k < rank; ++k)
            at.push_back(places.data<double>()[n * rank + k]);
        const std::vector<AxisTap> taps = planeTaps(samplers, strides, at);
        for (std::int64_t c = 0; c < channels; ++c) {
            const std::int64_t image = n / positions * channels + c;
            double sum = 0;
            for (const AxisTap& tap : taps)
                sum += tap.weight * static_cast<double>(from[image * plane + tap.index]);
            to[image * positions + n % positions] = numberAs<T>(sum);
        }
    }
}

Status evalGridSample(EvalContext& context) {
    TS_ASSIGN(const Sampling sampling, samplingOf(context.node));
    visitNumeric(context.outputs[0].type(), [&](auto tag) { sample<decltype(tag)>(context, sampling); });
    return {};
}

} // namespace

void registerGridSample(OperatorList& list) {
    addOperator(list, "GridSample", Fusion::opaque, 16, {2, 2}, inferGridSample, evalGridSample);
}

} // namespace tunesmith::ops
