// SPDX-License-Identifier: GPL-3.0-or-later
// Slice: numpy's a[start:end:step] along some axes; attributes before opset 10, inputs since.
#include <algorithm>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

struct Range {
    std::int64_t start = 0, step = 1, count = 0;
};

// What start:end:step takes of `extent` elements, with everything clamped as numpy does.
Range clampedRange(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
    start += start < 0 ? extent : 0;
    end += end < 0 ? extent : 0;
    if (extent == 0)
        return {0, step, 0};
    if (step > 0) {
        start = std::clamp<std::int64_t>(start, 0, extent);
        end = std::clamp<std::int64_t>(end, 0, extent);
        return {start, step, end > start ? (end - start - 1) / step + 1 : 0};
    }
    start = std::clamp<std::int64_t>(start, 0, extent - 1);
    end = std::clamp<std::int64_t>(end, -1, extent - 1);
    return {start, step, start > end ? (end - start + 1) / step + 1 : 0};
}

struct SliceSpec {
    bool known = true;
    bool axesKnown = true;
    std::vector<std::int64_t> starts, ends, steps;
    std::vector<std::size_t> axes;
};

Result<SliceSpec> specOf(const OpInputs& in, std::size_t rank) {
    TS_ASSIGN(const IntList starts, intList(in, "starts", 1));
    TS_ASSIGN(const IntList ends, intList(in, "ends", 2));
    TS_ASSIGN(const IntList axes, intList(in, "axes", 3));
    TS_ASSIGN(const IntList steps, intList(in, "steps", 4));
    if (!starts.given || !ends.given)
        return in.error("has no starts or no ends");
    SliceSpec spec{starts.known && ends.known && axes.known && steps.known, axes.known, starts.values, ends.values,
                   steps.values, {}};
    if (!axes.known)
        return spec;
    std::vector<std::int64_t> named = axes.values;
    if (!axes.given)
        for (std::size_t i = 0; i < (starts.known ? starts.values.size() : rank); ++i)
            named.push_back(static_cast<std::int64_t>(i));
    TS_ASSIGN(spec.axes, frontAxes(in, named, rank));
    if (!steps.given)
        spec.steps.assign(spec.axes.size(), 1);
    if (!spec.known)
        return spec;
    if (spec.starts.size() != spec.axes.size() || spec.ends.size() != spec.axes.size() || spec.steps.size() != spec.axes.size())
        return in.error("starts, ends, axes and steps have different lengths");
    if (std::find(spec.steps.begin(), spec.steps.end(), 0) != spec.steps.end())
        return in.error("a step is 0");
    return spec;
}

// A named dimension keeps its name when all of it is taken.
bool takesAll(std::int64_t start, std::int64_t end, std::int64_t step) {
    constexpr std::int64_t kFar = INT32_MAX;
    return (step == 1 && start == 0 && end >= kFar) || (step == -1 && (start == -1 || start >= kFar) && end <= -kFar);
}

Status inferSlice(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    TS_ASSIGN(const SliceSpec spec, specOf(in, dims.size()));
    if (!spec.axesKnown)
        dims.assign(dims.size(), Dim());
    for (std::size_t i = 0; i < spec.axes.size(); ++i) {
        Dim& dim = dims[spec.axes[i]];
        if (!spec.known)
            dim = Dim();
        else if (dim.known())
            dim = clampedRange(spec.starts[i], spec.ends[i], spec.steps[i], dim.extent).count;
        else if (!takesAll(spec.starts[i], spec.ends[i], spec.steps[i]))
            dim = Dim();
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

std::vector<Range> rangesOf(const SliceSpec& spec, const Shape& shape) {
    std::vector<Range> ranges(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d)
        ranges[d].count = shape[d];
    for (std::size_t i = 0; i < spec.axes.size(); ++i)
        ranges[spec.axes[i]] = clampedRange(spec.starts[i], spec.ends[i], spec.steps[i], shape[spec.axes[i]]);
    return ranges;
}

Status evalSlice(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& data = context.input(0);
    const OpInputs in(context.node, context.opset, std::vector<TensorType>(context.inputs.size()), context.inputs);
    TS_ASSIGN(const SliceSpec spec, specOf(in, data.rank()));
    View view = wholeView(data);
    const std::vector<Range> ranges = rangesOf(spec, data.shape());
    for (std::size_t d = 0; d < ranges.size(); ++d) {
        view.offset += ranges[d].start * view.strides[d];
        view.shape[d] = ranges[d].count;
        view.strides[d] = ranges[d].count > 1 ? view.strides[d] * ranges[d].step : 0;
    }
    context.outputs[0] = gatherView(data, view, types[0].shape());
    return {};
}

Status lowerSlice(LowerContext& context) {
    TS_ASSIGN(const SliceSpec spec, specOf(context, context.outputShape().size()));
    const std::vector<Range> ranges = rangesOf(spec, context.inputShape(0));
    context.finish(0, loops::compute("slice", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        loops::Indices source;
        for (std::size_t d = 0; d < i.size(); ++d)
            source.push_back(ranges[d].count > 1 ? i[d] * loops::Expr(ranges[d].step) + loops::Expr(ranges[d].start)
                                                 : i[d] + loops::Expr(ranges[d].start));
        return loops::load(context.inputs[0], source);
    }));
    return {};
}

Status sliceLowerable(const OpInputs& in) {
    for (std::size_t i = 1; i < in.count(); ++i)
        TS_TRY(requireConstant(in, i, "where it starts and ends"));
    return {};
}

} // namespace

void registerSlice(OperatorList& list) {
    addMovement(list, "Slice", Fusion::injective, 1, {1, 5}, inferSlice, evalSlice, lowerSlice, sliceLowerable);
}

} // namespace tunesmith::ops
