// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/contrib/contrib.h"

namespace tunesmith::ops {

// A cache of keys or values that is a buffer of a fixed length [batch, heads, length, size], of which some
// rows are filled. New rows go behind those, and what lies behind them is zero. How many are filled may be
// known only when a model runs, so that caches of decoders have static shapes.
Tensor writtenCache(const Tensor& past, const Tensor& more,
                    const std::vector<std::int64_t>& filled, // by batch
                    std::int64_t length);

struct CacheBuffer {
    std::int64_t batch, heads, size;
    std::int64_t pastRows, newRows, length; // the past has at most `length` rows
};
// The same as nodes; `filled` is int64 [batch, 1, 1, 1], an invalid past is one of no rows.
ValueId writeCache(ExpandContext& context, const CacheBuffer& buffer, DType type, ValueId past, ValueId more,
                   ValueId filled);

} // namespace tunesmith::ops
