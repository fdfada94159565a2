// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/scratch.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/reduction.h"
#include "core/ops/rules.h"

// Softmax, LogSoftmax and Hardmax. Since opset 13 along one axis (default the last); before, over all dimensions from
// `axis` (default 1) on, as if they were one.
namespace tunesmith::ops {
namespace {

using namespace loops;
using Axes = std::vector<std::size_t>;

std::int64_t statedAxis(const Node& node, std::int64_t opset) { return node.intAttr("axis", opset < 13 ? 1 : -1); }

Axes softmaxAxes(const Node& node, std::int64_t opset, std::size_t rank) {
    const std::size_t axis = frontAxis(statedAxis(node, opset), rank);
    Axes axes(opset < 13 ? rank - axis : 1);
    std::iota(axes.begin(), axes.end(), axis);
    return axes;
}

Status inferSoftmax(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(inferSameAsFirst(in));
    if (!in.type(0).dims)
        return {};
    const std::size_t rank = in.type(0).dims->size();
    // Flattening at the rank itself leaves rows of one element.
    const std::int64_t axis = statedAxis(in.node, in.opset);
    if (in.opset < 13 && axis == static_cast<std::int64_t>(rank))
        return {};
    const auto front = frontAxis(in, axis, rank);
    return front.ok() ? Status() : Status(front.error());
}

// y = finish(x - max, sum of exp(x - max)) along the axes.
template <class Finish> Kernel softmaxKernel(Finish finish) {
    return [finish](EvalContext& context) -> Status {
        const Tensor& input = context.input(0);
        const Axes axes = softmaxAxes(context.node, context.opset, input.rank());
        const auto rows = static_cast<std::size_t>(elementCount(keptShape(input.shape(), axes)));
        visitFloat(input.type(), [&](auto tag) {
            using T = decltype(tag);
            const T* const x = input.data<T>().data();
            T* const y = context.outputs[0].mutableData<T>().data();
            Scratch<double> top(rows, -std::numeric_limits<double>::infinity()), sum(rows, 0.0);
            foldOver(input.shape(), x, axes, top.data(),
                     [](double all, T value) { return std::max(all, static_cast<double>(value)); });
            mapWithReduced(input.shape(), x, axes, top.data(), y,
                           [](T value, double most) { return static_cast<T>(value - most); });
            foldOver(input.shape(), y, axes, sum.data(),
                     [](double all, T value) { return all + std::exp(static_cast<double>(value)); });
            mapWithReduced(input.shape(), y, axes, sum.data(), y, [&](T value, double total) {
                return static_cast<T>(finish(static_cast<double>(value), total));
            });
        });
        return {};
    };
}

Status evalHardmax(EvalContext& context) {
    const Tensor& input = context.input(0);
    const Axes axes = softmaxAxes(context.node, context.opset, input.rank());
    const Shape kept = keptShape(input.shape(), axes);
    const auto rows = static_cast<std::size_t>(elementCount(kept));
    visitFloat(input.type(), [&](auto tag) {
        using T = decltype(tag);
        const T* const x = input.data<T>().data();
        T* const y = context.outputs[0].mutableData<T>().data();
        Scratch<T> top(rows, -std::numeric_limits<T>::infinity());
        std::vector<bool> taken(rows, false);
        foldOver(input.shape(), x, axes, top.data(), [](T all, T value) { return value > all || value != value ? value : all; });
        forEachRun<1>(input.shape(), {broadcastStrides(kept, input.shape())},
                      [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
                          for (std::int64_t i = 0; i < count; ++i) {
                              const auto row = static_cast<std::size_t>(at[0] + i * step[0]);
                              const T value = x[start + i];
                              const bool first = !taken[row] && (value == top[row] || value != value);
                              taken[row] = taken[row] || first;
                              y[start + i] = first ? T{1} : T{};
                          }
                      });
    });
    return {};
}

TensorRef maxStage(LowerContext& context, const Axes& axes) {
    const TensorRef& x = context.inputs[0];
    return reduceOver(context, "softmax_max", computeType(x->type), Reduction::max, x->shape, axes,
                      [&](const Indices& i) { return read(x, i); });
}

Status lowerSoftmax(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const Axes axes = softmaxAxes(context.node, context.opset, x->shape.size());
    const TensorRef top = maxStage(context, axes);
    const TensorRef powers = context.add(compute("softmax_exp", top->type, x->shape, [&](const Indices& i) {
        return unary(Op::expDown, read(x, i) - readReduced(top, i, axes));
    }));
    const TensorRef sum = reduceOver(context, "softmax_sum", top->type, Reduction::sum, x->shape, axes,
                                     [&](const Indices& i) { return load(powers, i); });
    // The sum is at least 1, that of the largest: its inverse is a number, and one division does for a row.
    lowerElementwise(context, "softmax_norm", [&](const Indices& i) {
        return load(powers, i) * (constantOf(top->type, 1) / readReduced(sum, i, axes));
    });
    return {};
}

Status lowerLogSoftmax(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const Axes axes = softmaxAxes(context.node, context.opset, x->shape.size());
    const TensorRef top = maxStage(context, axes);
    const TensorRef sum = reduceOver(context, "softmax_sum", top->type, Reduction::sum, x->shape, axes, [&](const Indices& i) {
        return unary(Op::expDown, read(x, i) - readReduced(top, i, axes));
    });
    lowerElementwise(context, "log_softmax_norm", [&](const Indices& i) {
        return read(x, i) - readReduced(top, i, axes) - unary(Op::log, readReduced(sum, i, axes));
    });
    return {};
}

// The position along the axes as one number.
Expr flatPosition(const Indices& i, const Shape& shape, const Axes& axes) {
    Expr flat(0);
    for (const std::size_t axis : axes)
        flat = flat * Expr(shape[axis]) + i[axis];
    return flat;
}

Status lowerHardmax(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    const Axes axes = softmaxAxes(context.node, context.opset, x->shape.size());
    const TensorRef top = maxStage(context, axes);
    const Expr none(countOver(x->shape, axes));
    const TensorRef where = reduceOver(context, "hardmax_index", DType::i64, Reduction::min, x->shape, axes, [&](const Indices& i) {
        return select(isExtreme(read(x, i), readReduced(top, i, axes)), flatPosition(i, x->shape, axes), none);
    });
    lowerElementwise(context, "hardmax", [&](const Indices& i) {
        const Expr chosen = equal(readReduced(where, i, axes), flatPosition(i, x->shape, axes));
        return select(chosen, constantOf(top->type, 1), constantOf(top->type, 0));
    });
    return {};
}

} // namespace

void registerSoftmax(OperatorList& list) {
    addOperator(list, "Softmax", Fusion::anchor, 1, {1, 1}, inferSoftmax,
                softmaxKernel([](double x, double sum) { return std::exp(x) / sum; }), lowerSoftmax);
    addOperator(list, "LogSoftmax", Fusion::anchor, 1, {1, 1}, inferSoftmax,
                softmaxKernel([](double x, double sum) { return x - std::log(sum); }), lowerLogSoftmax);
    addOperator(list, "Hardmax", Fusion::anchor, 1, {1, 1}, inferSoftmax, evalHardmax, lowerHardmax);
}

} // namespace tunesmith::ops
