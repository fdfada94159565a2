// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>

#include "core/ops/operator.h"

namespace tunesmith::ops {

// Rotary position embeddings: pairs of a head's elements are turned by an angle of their position,
// (x1, x2) -> (x1 cos - x2 sin, x1 sin + x2 cos). Elements behind `rotated` stay as they are.
struct RotaryShape {
    std::int64_t batch = 0, length = 0, heads = 0, size = 0; // size: of a head
    std::int64_t rotated = 0;                                // even, at most size
    bool headsFirst = false;  // x is [batch, heads, length, size]; otherwise [batch, length, heads, size]
    bool interleaved = false; // a pair lies side by side; otherwise half of what is rotated apart

    std::int64_t pairs() const { return rotated / 2; }
    Shape shape() const { return headsFirst ? Shape{batch, heads, length, size} : Shape{batch, length, heads, size}; }
};

// cos and sin have rows of pairs() numbers; position (b, t) takes row rows[b * length + t]. All float32 or float64.
void rotate(const RotaryShape& shape, const Tensor& x, const Tensor& cos, const Tensor& sin, std::span<const std::int64_t> rows, Tensor& y);

// The same as nodes, of one type that is float32 or float64; cos and sin are [batch or 1, length, pairs()]. x and the
// result have shape.shape().
ValueId expandRotation(ExpandContext& context, const RotaryShape& shape, ValueId x, ValueId cos, ValueId sin);

} // namespace tunesmith::ops
