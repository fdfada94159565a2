// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cmath>

#include "core/ops/attention_core.h"
#include "core/ops/contrib/contrib.h"
#include "core/ops/rotary.h"

namespace tunesmith::ops {

// The kernel of GroupQueryAttention and its nodes share these.

enum GroupInput : std::size_t {
    kGroupQuery,
    kGroupKey,
    kGroupValue,
    kGroupPastKey,
    kGroupPastValue,
    kSeqLens,
    kTotal,
    kGroupCos,
    kGroupSin,
    kGroupPositions,
    kGroupBias,
    kSink,
    kKeyScale,
    kValueScale,
    kQueryNorm,
    kKeyNorm
};
enum GroupOutput : std::size_t { kGroupResult, kGroupPresentKey, kGroupPresentValue, kGroupScores };

struct GroupHeads {
    std::int64_t heads, kvHeads;
    explicit GroupHeads(const Node& node)
        : heads(node.intAttr("num_heads", 0)), kvHeads(node.intAttr("kv_num_heads", 0)) {}
};

struct GroupForm {
    AttentionShape shape;
    AttentionRule rule;
    RotaryShape rotary;          // of queries; rotated is 0 where nothing is
    std::int64_t window, length; // keys that a query sees, or -1; of the caches afterwards
    bool causal, extraKey;       // a key of score 0, or of the sink's, that has no value

    GroupForm(const OpInputs& in, const Shape& query, std::int64_t pairs, std::int64_t presentRows)
        : window(in.node.intAttr("local_window_size", -1)), length(presentRows),
          causal(in.node.intAttr("causal", 1) != 0),
          extraKey(in.node.intAttr("smooth_softmax", 0) == 1 || in.has(kSink)) {
        const GroupHeads h(in.node);
        shape = {query[0], h.heads, h.kvHeads, query[1], length, 0, 0};
        shape.size = query[2] / (in.has(kGroupKey) ? h.heads : h.heads + 2 * h.kvHeads);
        shape.valueSize = shape.size;
        const float scale = in.node.floatAttr("scale", 0);
        rule = {scale == 0 ? 1 / std::sqrt(static_cast<double>(shape.size)) : static_cast<double>(scale),
                in.node.floatAttr("softcap", 0), false};
        rotary = {shape.batch,
                  shape.queries,
                  h.heads,
                  shape.size,
                  2 * pairs,
                  true,
                  in.node.intAttr("rotary_interleaved", 0) != 0};
    }
    bool sees(std::int64_t position, std::int64_t key, std::int64_t filled) const {
        return causal ? key <= position && (window < 0 || key > position - window) : key < filled;
    }
};

// The node as others.
Status expandGroupAttention(ExpandContext& context);

} // namespace tunesmith::ops
