// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/operator.h"

namespace tunesmith::ops {

// Linear attention as a recurrence over time, one state of keySize x valueSize per head of keys:
//   S = exp(decay) S;  S += k (x) beta (v - S^T k)  or  k (x) v;  y = scale S^T q.
// Query head h reads the state h / group().
struct LinearAttentionShape {
    std::int64_t batch = 0, time = 0, heads = 0, kvHeads = 0, keySize = 0, valueSize = 0;
    std::int64_t decays = 0; // numbers of a decay per head: 0 (none), 1 or keySize
    std::int64_t betas = 0;  // numbers of an update rate per position: 0 (none), 1 or kvHeads
    double scale = 1;

    std::int64_t group() const { return heads / kvHeads; }
    Shape state() const { return {batch, kvHeads, keySize, valueSize}; }
};

// Everything float64, packed as [batch, time, heads * size]; absent where the shape has none. `state` is changed in place.
struct LinearAttentionInputs {
    Tensor q, k, v, decay, beta;
};
Tensor attendLinearly(const LinearAttentionShape& shape, const LinearAttentionInputs& inputs, Tensor& state);

// The same as nodes, step by step, in float32.
struct LinearAttentionNodes {
    ValueId q, k, v, decay, beta, state; // inputs as above; the state after the last step
    ValueId y;                           // [batch, time, heads * valueSize]
};
void expandLinearAttention(ExpandContext& context, const LinearAttentionShape& shape, LinearAttentionNodes& nodes);

} // namespace tunesmith::ops
