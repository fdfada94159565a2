// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>

#include "core/ops/operator.h"

namespace tunesmith::ops {

// What the attention operators of ONNX and of com.microsoft share: y = softmax(softcap(scale Q K^T) + bias) V for each
// head, as a reference kernel and as an expansion. How caches, masks and packed inputs become q, k, v and bias is the
// business of each operator.

struct AttentionShape {
    std::int64_t batch = 0, heads = 0, kvHeads = 0; // query head h reads head h / group() of keys and values
    std::int64_t queries = 0, keys = 0;
    std::int64_t size = 0, valueSize = 0; // of a head's query and key, of its value

    std::int64_t group() const { return heads / kvHeads; }
    Shape scores() const { return {batch, heads, queries, keys}; }
};

// [batch, length, heads * size] as [batch, heads, length, size], which stays as it is, and back.
Tensor headsApart(const Tensor& x, std::int64_t heads);
Tensor headsTogether(const Tensor& x);
Tensor extendedCache(const Tensor& past, const Tensor& more); // along the lengths; no past is an absent one

struct AttentionRule {
    double scale = 1;
    double softcap = 0;    // scores become softcap * tanh(score / softcap); 0: they stay
    bool hiddenRows = true; // rows whose bias is -inf everywhere give zeros; false where there are none, or they may be NaN
};

// The scores on their way, as operators can show them.
enum class AttentionStep : std::uint8_t { scaled, capped, biased, probabilities };

// Sees each row of scores; rows are counted over batch, heads and queries.
using ShowScores = std::function<void(AttentionStep, std::int64_t row, std::span<const double> scores)>;

// Computes in double. q is [batch, heads, queries, size], k and v are [batch, kvHeads, keys, size or valueSize], y is
// [batch, heads, queries, valueSize], all float32 or float64; bias is float64 and broadcasts to the scores, or is absent.
void attend(const AttentionShape& shape, const AttentionRule& rule, const Tensor& q, const Tensor& k, const Tensor& v,
            const Tensor& bias, Tensor& y, const ShowScores& show = {});

// The same as nodes. All values are of one type, float32 or float64, and shaped as above; an invalid bias is none.
struct AttentionNodes {
    ValueId y, scaled, capped, biased, probabilities;
};
AttentionNodes expandAttention(ExpandContext& to, const AttentionShape& shape, const AttentionRule& rule, DType type, ValueId q,
                               ValueId k, ValueId v, ValueId bias);

} // namespace tunesmith::ops
