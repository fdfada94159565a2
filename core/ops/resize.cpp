// SPDX-License-Identifier: GPL-3.0-or-later
// Resize (opset 10 and later) and its forerunner Upsample.
#include <algorithm>
#include <cmath>

#include "core/ops/lowering.h"
#include "core/ops/node_steps.h"
#include "core/ops/resize_plan.h"

namespace tunesmith::ops {
namespace {

using loops::Expr;

Tensor resizeNearest(const ResizePlan& plan, const Tensor& data) {
    IndexMaps maps;
    for (const ResizeAxis& axis : plan.axes)
        maps.push_back(nearestMap(plan, axis));
    return gatherMapped(data, maps, Tensor::scalar(plan.extrapolation).cast(data.type()));
}

// One axis of [outer, axis, inner]: every output row is a weighted sum of input rows.
template <class T> Tensor resizeAxis(const Tensor& data, std::size_t d, const std::vector<std::vector<Tap>>& taps) {
    Shape shape = data.shape();
    const std::int64_t inner = elementCount(std::span(shape).subspan(d + 1)), from = shape[d];
    const std::int64_t outer = elementCount(std::span(shape).first(d));
    shape[d] = static_cast<std::int64_t>(taps.size());
    Tensor result = Tensor::zeros(data.type(), shape);
    T* target = result.mutableData<T>().data();
    for (std::int64_t o = 0; o < outer; ++o)
        for (const auto& row : taps) {
            for (const Tap& tap : row) {
                const T* const source = data.data<T>().data() + (o * from + tap.index) * inner;
                const T weight = static_cast<T>(tap.weight);
                for (std::int64_t i = 0; i < inner; ++i)
                    target[i] += weight * source[i];
            }
            target += inner;
        }
    return result;
}

// Elements for which some axis lies outside of a cropped region.
template <class T> void extrapolate(const ResizePlan& plan, Tensor& result) {
    const Shape strides = rowMajorStrides(result.shape());
    for (std::size_t d = 0; d < plan.axes.size(); ++d) {
        const auto taps = resizeTaps(plan, plan.axes[d]);
        for (std::int64_t n = 0; n < result.count(); ++n)
            if (taps[n / strides[d] % result.shape()[d]].empty())
                result.mutableData<T>()[n] = static_cast<T>(plan.extrapolation);
    }
}

template <class T> Tensor resizeWeighted(const ResizePlan& plan, Tensor data) {
    for (std::size_t d = 0; d < plan.axes.size(); ++d)
        if (!plan.axes[d].trivial())
            data = resizeAxis<T>(data, d, resizeTaps(plan, plan.axes[d]));
    if (plan.crops)
        extrapolate<T>(plan, data);
    return data;
}

Status evalResize(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor& data = context.input(0);
    std::vector<TensorType> types;
    for (const Tensor& input : context.inputs)
        types.push_back(input.absent() ? TensorType() : TensorType(input.type(), input.shape()));
    TS_ASSIGN(const ResizePlan plan, resizePlan(OpInputs(context.node, context.opset, types, context.inputs), data.shape()));
    if (plan.mode == ResizeMode::nearest)
        context.outputs[0] = resizeNearest(plan, data);
    else if (isFloat(data.type()) && data.type() != DType::f64)
        context.outputs[0] = resizeWeighted<float>(plan, data.cast(DType::f32)).cast(data.type());
    else
        context.outputs[0] = resizeWeighted<double>(plan, data.cast(DType::f64)).cast(data.type());
    return {};
}

Expr nearestIndex(const ResizePlan& plan, const ResizeAxis& axis, const Expr& i) {
    if (axis.trivial())
        return i;
    const NearestFormula formula = *nearestFormula(nearestMap(plan, axis), axis); // resizeLowerable() saw to it
    const std::int64_t factor = formula.bias % 2 == 0 ? 1 : 2;
    const Expr scaled = i * Expr(factor * formula.numerator) + Expr(formula.bias * factor / 2);
    const Expr index = factor * formula.denominator == 1 ? scaled : scaled / Expr(factor * formula.denominator);
    return formula.clamped ? loops::min(loops::max(index, Expr(0)), Expr(axis.from - 1)) : index;
}

std::vector<Expr> tapWeights(const ResizePlan& plan, DType type, const Expr& t) {
    const auto number = [type](double value) { return loops::constantOf(type, value); };
    if (plan.mode == ResizeMode::linear)
        return {number(1) - t, t};
    const double a = plan.cubicCoefficient;
    const auto near = [&](const Expr& x) { return (number(a + 2) * x - number(a + 3)) * x * x + number(1); };
    const auto far = [&](const Expr& x) {
        return ((number(a) * x - number(5 * a)) * x + number(8 * a)) * x - number(4 * a);
    };
    return {far(t + number(1)), near(t), near(number(1) - t), far(number(2) - t)};
}

// Each axis multiplies the terms that are written out for an element.
constexpr std::int64_t kMostTerms = 256; // a cubic in four dimensions

bool hasManyTerms(const ResizePlan& plan) {
    std::int64_t terms = 1;
    for (const ResizeAxis& axis : plan.axes)
        if (terms <= kMostTerms && !axis.trivial())
            terms *= plan.mode == ResizeMode::cubic ? 4 : 2;
    return terms > kMostTerms;
}

// The type in which positions along an axis are computed. Those of long axes need more digits than float32 has, unless slope
// and offset are short binary fractions: rounding a position moves the weights as much.
DType positionType(const ResizePlan& plan, DType type, const ResizeAxis& axis) {
    // Of the distance between elements. Checks allow 1e-4 of the scale; two axes share it, and cubic weights are steeper.
    const double mostShift = plan.mode == ResizeMode::cubic ? 1.2e-5 : 5e-5;
    const auto slope = static_cast<float>(axis.slope), offset = static_cast<float>(axis.offset);
    for (std::int64_t i = 0; type == DType::f32 && i < axis.to; ++i) {
        const float rounded = static_cast<float>(i) * slope + offset;
        if (std::fabs(static_cast<double>(rounded) - (axis.slope * static_cast<double>(i) + axis.offset)) > mostShift)
            return DType::f64;
    }
    return type;
}

struct Interpolation {
    const LowerContext& context;
    const ResizePlan& plan;
    std::vector<DType> positions; // the type of each axis
};

// The weighted sum over the taps of axis d and those after it.
Expr interpolated(const Interpolation& it, const loops::Indices& i, std::size_t d, loops::Indices source) {
    while (d < i.size() && it.plan.axes[d].trivial())
        source.push_back(i[d++]);
    if (d == i.size())
        return read(it.context.inputs[0], source);
    const ResizeAxis& axis = it.plan.axes[d];
    const DType type = computeType(it.context.outputType()), exact = it.positions[d];
    const Expr position = loops::cast(exact, i[d]) * loops::constantOf(exact, axis.slope) + loops::constantOf(exact, axis.offset);
    const Expr base = loops::unary(loops::Op::floor, position);
    const Expr first = loops::cast(DType::i64, base);
    const std::vector<Expr> weights = tapWeights(it.plan, type, narrow(type, position - base));
    Expr sum;
    for (std::size_t k = 0; k < weights.size(); ++k) {
        const std::int64_t shift = static_cast<std::int64_t>(k) - (it.plan.mode == ResizeMode::cubic ? 1 : 0);
        loops::Indices next = source;
        next.push_back(loops::min(loops::max(first + Expr(shift), Expr(0)), Expr(axis.from - 1)));
        const Expr part = weights[k] * interpolated(it, i, d + 1, std::move(next));
        sum = sum.valid() ? sum + part : part;
    }
    return sum;
}

void lowerInterpolation(LowerContext& context, const ResizePlan& plan) {
    Interpolation it{context, plan, {}};
    for (const ResizeAxis& axis : plan.axes)
        it.positions.push_back(positionType(plan, computeType(context.outputType()), axis));
    lowerElementwise(context, "resize", [&](const loops::Indices& i) { return interpolated(it, i, 0, {}); });
}

Status lowerResize(LowerContext& context) {
    TS_ASSIGN(const ResizePlan plan, resizePlan(context, context.inputShape(0)));
    if (plan.mode != ResizeMode::nearest) {
        lowerInterpolation(context, plan);
        return {};
    }
    context.finish(0, loops::compute("resize", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        loops::Indices source;
        for (std::size_t d = 0; d < i.size(); ++d)
            source.push_back(nearestIndex(plan, plan.axes[d], i[d]));
        return loops::load(context.inputs[0], source);
    }));
    return {};
}

Status resizeLowerable(const OpInputs& in) {
    if (!in.type(0).isStatic())
        return in.unsupported("its input has no known shape");
    TS_ASSIGN(const ResizePlan plan, resizePlan(in, in.type(0).shape()));
    if (plan.crops || plan.excludeOutside || plan.antialias)
        return in.unsupported("cropping, excluding what lies outside and antialiasing are not compiled");
    if (plan.mode != ResizeMode::nearest && !isFloat(in.type(0).dtype))
        return in.unsupported("interpolation of integers is not compiled");
    if (plan.mode != ResizeMode::nearest && hasManyTerms(plan))
        return in.unsupported("interpolation of more than " + std::to_string(kMostTerms) + " elements for each one is not compiled");
    for (const ResizeAxis& axis : plan.axes)
        if (plan.mode == ResizeMode::nearest && !axis.trivial() && !nearestFormula(nearestMap(plan, axis), axis))
            return in.unsupported("its index map has no closed form");
    return {};
}

// Axis by axis, as resizeWeighted() goes: each element of what is made is a sum of several along the axis.
double resizeSteps(const OpInputs& in) {
    const auto plan = resizePlan(in, in.type(0).shape());
    if (!plan.ok() || plan->mode == ResizeMode::nearest)
        return resultElements(in);
    double elements = static_cast<double>(elementCount(in.type(0).shape())), steps = 0;
    for (const ResizeAxis& axis : plan->axes) {
        if (axis.trivial() || axis.from == 0)
            continue;
        elements = elements / static_cast<double>(axis.from) * static_cast<double>(axis.to);
        steps += elements * (plan->mode == ResizeMode::cubic ? 4 : 2) * axis.stretch;
    }
    return steps;
}

} // namespace

void registerResize(OperatorList& list) {
    addMovement(list, "Resize", Fusion::injective, 10, {1, 4}, inferResize, evalResize, lowerResize, resizeLowerable);
    list.back().steps = resizeSteps;
    addMovement(list, "Upsample", Fusion::injective, 7, {1, 2}, inferResize, evalResize, lowerResize, resizeLowerable);
    list.back().steps = resizeSteps;
}

} // namespace tunesmith::ops
