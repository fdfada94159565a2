// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>

#include "core/ops/operator.h"

namespace tunesmith::ops {

// Numpy's broadcasting: shapes are aligned at their last dimension, and an extent of 1 repeats.

// nullopt when the dimensions cannot be broadcast. Unknown against n > 1 is n: nothing else is legal.
std::optional<Dim> broadcastDim(const Dim& a, const Dim& b);
std::optional<Dims> broadcastDims(const Dims& a, const Dims& b);
// Output 0 gets this element type and the shape of all inputs together; an input without a rank makes it unknown. Errors
// name the two that do not fit.
Status inferBroadcastOutput(InferContext& in, DType type);
// Whether `from` can be repeated to `to` without making `to` larger; unknown dimensions pass.
bool broadcastsTo(const Dims& from, const Dims& to);

// How far to move in an operand when an index of `output` moves by one; 0 in repeated dimensions.
Shape broadcastStrides(const Shape& operand, const Shape& output);

// A walk over a row-major tensor beside N operands that are read with their own strides, after dimensions that can be
// walked as one have been merged. The last dimension is the run that a kernel's inner loop covers.
template <std::size_t N> struct Walk {
    Shape shape;
    std::array<Shape, N> strides;
};

template <std::size_t N> Walk<N> mergedWalk(const Shape& shape, const std::array<Shape, N>& strides) {
    Walk<N> walk;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 1)
            continue;
        bool mergeable = !walk.shape.empty();
        for (std::size_t n = 0; n < N && mergeable; ++n)
            mergeable = walk.strides[n].back() == strides[n][d] * shape[d];
        if (!mergeable)
            walk.shape.push_back(1);
        walk.shape.back() *= shape[d];
        for (std::size_t n = 0; n < N; ++n) {
            if (!mergeable)
                walk.strides[n].push_back(0);
            walk.strides[n].back() = strides[n][d];
        }
    }
    if (walk.shape.empty()) {
        walk.shape = {1};
        walk.strides.fill({0});
    }
    return walk;
}

// visit(start, count, at, step): elements start .. start + count of the tensor; operand n is read at at[n] + i * step[n].
template <std::size_t N, class Visit>
void forEachRun(const Shape& shape, const std::array<Shape, N>& strides, Visit&& visit) {
    const Walk<N> walk = mergedWalk(shape, strides);
    const std::size_t last = walk.shape.size() - 1;
    const std::int64_t count = walk.shape[last], total = elementCount(walk.shape);
    std::array<std::int64_t, N> at{}, step{};
    for (std::size_t n = 0; n < N; ++n)
        step[n] = walk.strides[n][last];
    Shape index(walk.shape.size(), 0);
    for (std::int64_t start = 0; start < total; start += count) {
        visit(start, count, at, step);
        for (std::size_t d = last; d-- > 0;) {
            for (std::size_t n = 0; n < N; ++n)
                at[n] += walk.strides[n][d];
            if (++index[d] < walk.shape[d])
                break;
            for (std::size_t n = 0; n < N; ++n)
                at[n] -= walk.strides[n][d] * walk.shape[d];
            index[d] = 0;
        }
    }
}

// out[i] = fn(a[i], b[i]) under broadcasting; out has the broadcast shape.
template <class T, class R, class Fn>
void mapBroadcast(const Tensor& a, const Tensor& b, Tensor& out, Fn fn) {
    const T* const x = a.data<T>().data();
    const T* const y = b.data<T>().data();
    R* const z = out.mutableData<R>().data();
    const std::array<Shape, 2> strides{broadcastStrides(a.shape(), out.shape()), broadcastStrides(b.shape(), out.shape())};
    forEachRun<2>(out.shape(), strides, [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
        const T* const p = x + at[0];
        const T* const q = y + at[1];
        R* const r = z + start;
        if (step[0] == 1 && step[1] == 1)
            for (std::int64_t i = 0; i < count; ++i)
                r[i] = fn(p[i], q[i]);
        else if (step[0] == 1 && step[1] == 0)
            for (std::int64_t i = 0; i < count; ++i)
                r[i] = fn(p[i], *q);
        else
            for (std::int64_t i = 0; i < count; ++i)
                r[i] = fn(p[i * step[0]], q[i * step[1]]);
    });
}

} // namespace tunesmith::ops
