// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/attention_core.h"
#include "core/ops/contrib/contrib.h"

namespace tunesmith::ops {

// Attention, QAttention and MultiHeadAttention of com.microsoft share these once queries, keys and values are
// heads: a cache that grows, int32 masks in several forms, and a bias. Masked scores get mask_filter_value
// added, -10000 unless stated, so that a row that is masked as a whole is a softmax like others; only keys
// that lie ahead, and rows of a cache that are not filled, are never seen. For the last query no key lies ahead,
// as ONNX Runtime has it: with more new keys than queries it sees them all, and so does a single query.
inline constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);
struct DenseAttention {
    AttentionShape shape;
    AttentionRule rule;
    std::int64_t past = 0;  // rows of the cache before
    std::int64_t fresh = 0; // and those that are new
    std::size_t filled =
        kNoPlace; // place of the number of rows of a cache that is a buffer; `past` is that in kernels
    std::size_t mask = 0, bias = 0; // places of the inputs, which may be left out
    bool ahead = true;              // keys that lie ahead are seen
    double filter = -10000;

    // scale and the attributes of masks; `shape` must be set before.
    void read(const Node& node);
    bool isBuffer() const { return filled != kNoPlace; }
};

// The mask is int32 [batch] (keys from there on are masked), [2 * batch] (those before the second half as
// well), [batch, keys], [batch, queries, keys]; [3 * batch + 2], of which only the first lengths count;
// [batch, 1, most, most], whose rows are those of all keys and must be `rows` at least, the rows before and a
// query each; or [batch or 1, 1], which masks nothing. bias is
// [batch or 1, heads or 1, queries, keys]. Of a buffer both may have fewer keys. Masks of two and more dimensions
// show a key where their number is above 0.
Status checkDenseMask(const OpInputs& in, std::size_t mask, const Dim& batch, const Dim& queries,
                      const Dim& keys, const Dim& rows, bool buffer = false);
Status checkDenseBias(const OpInputs& in, std::size_t bias, const Dim& batch, const Dim& heads,
                      const Dim& queries, const Dim& keys, bool buffer = false);

// q [batch, heads, queries, size]; k and v with the rows of the cache. The result is [batch, queries, heads *
// value size]; `scores` [batch, heads, queries, keys] are those before the softmax, never below the lowest
// float.
Tensor attendDensely(const EvalContext& context, const DenseAttention& form, const Tensor& q, const Tensor& k,
                     const Tensor& v, Tensor* scores = nullptr);
ValueId expandDenseAttention(ExpandContext& context, const DenseAttention& form, DType type, ValueId q,
                             ValueId k, ValueId v, ValueId* scores = nullptr);

// Keys or values of a cache [batch, heads, rows, size], absent where there is none, and new ones behind them.
Result<Tensor> cachedRows(const EvalContext& context, const DenseAttention& form, const Tensor& past,
                          const Tensor& more);
ValueId cachedRows(ExpandContext& context, const DenseAttention& form, ValueId past, ValueId more,
                   std::int64_t size);
std::int64_t filledRows(const EvalContext& context, const DenseAttention& form); // of a buffer

// A value [batch, length, heads * size] as heads [batch, heads, length, size].
ValueId headsApart(ExpandContext& context, ValueId value, std::int64_t batch, std::int64_t length,
                   std::int64_t heads, std::int64_t size);

// That no queries, keys or values are empty, which nodes of ONNX do not all take, and that places of keys fit a constant.
Status requireElements(const ExpandContext& context, const AttentionShape& shape);

Dim sumOf(const Dim& a, const Dim& b); // known where both are

} // namespace tunesmith::ops
