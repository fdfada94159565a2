// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/broadcast.h"
#include "core/ops/operator.h"

namespace tunesmith::ops {

// Reductions over axes in reference kernels: sums are kept in double (integers in int64).

// The shape with `axes` of extent 1.
Shape keptShape(const Shape& shape, const std::vector<std::size_t>& axes);

// acc[element kept] = fold(acc, x, ...) for every element of x in order; acc has keptShape(x.shape(), axes).
template <class T, class A, class Fold>
void foldOver(const Shape& shape, const T* x, const std::vector<std::size_t>& axes, A* acc, Fold fold) {
    const std::array<Shape, 1> strides{broadcastStrides(keptShape(shape, axes), shape)};
    forEachRun<1>(shape, strides, [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
        A* const into = acc + at[0];
        if (step[0] == 0) {
            A value = *into;
            for (std::int64_t i = 0; i < count; ++i)
                value = fold(value, x[start + i]);
            *into = value;
        } else {
            for (std::int64_t i = 0; i < count; ++i)
                into[i * step[0]] = fold(into[i * step[0]], x[start + i]);
        }
    });
}

// fn(x, reduced value that belongs to it) -> y, for every element.
template <class T, class A, class R, class Fn>
void mapWithReduced(const Shape& shape, const T* x, const std::vector<std::size_t>& axes, const A* reduced, R* y, Fn fn) {
    const std::array<Shape, 1> strides{broadcastStrides(keptShape(shape, axes), shape)};
    forEachRun<1>(shape, strides, [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
        for (std::int64_t i = 0; i < count; ++i)
            y[start + i] = fn(x[start + i], reduced[at[0] + i * step[0]]);
    });
}

} // namespace tunesmith::ops
