// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/contrib.h"
#include "core/ops/movement.h"
#include "core/ops/rotary.h"

// RotaryEmbedding: x [batch, heads, length, size] or [batch, length, heads * size]; positions are ids [batch,
// length], or one number [1] that the first position has. Rows of the caches belong to positions.
namespace tunesmith::ops {
namespace {

enum RotaryEmbeddingInput : std::size_t { kRotated, kRotaryIds, kCosines, kSines };

Result<RotaryShape> embeddingShape(const OpInputs& in, const Shape& x, std::int64_t pairs) {
    RotaryShape s;
    s.headsFirst = x.size() == 4;
    s.batch = x[0];
    s.length = x[s.headsFirst ? 2 : 1];
    const std::int64_t stated = in.node.intAttr("rotary_embedding_dim", 0),
                       heads = in.node.intAttr("num_heads", 0);
    if (stated > 0 && heads < 1 && !s.headsFirst)
        return in.error("rotary_embedding_dim needs num_heads");
    s.size = s.headsFirst ? x[3] : heads > 0 ? x[2] / heads : 2 * pairs;
    s.heads = s.headsFirst ? x[1] : s.size == 0 ? 0 : x[2] / s.size;
    s.rotated = 2 * pairs;
    s.interleaved = in.node.intAttr("interleaved", 0) != 0;
    if ((!s.headsFirst && s.heads * s.size != x[2]) || s.rotated > s.size ||
        (stated > 0 && stated != s.rotated) || (stated == 0 && s.rotated != s.size))
        return in.error("input 0 is " + in.type(kRotated).text() + ", which does not fit caches of " +
                        std::to_string(pairs) + " angles for each position");
    return s;
}

Status inferRotaryEmbedding(InferContext& in) {
    TS_TRY(requireFloat(in, kRotated));
    TS_TRY(requireIndexType(in, kRotaryIds));
    for (const std::size_t input : {kCosines, kSines}) {
        TS_TRY(requireSameType(in, kRotated, input));
        TS_TRY(requireRank(in, input, 2, "a row of angles for each position"));
    }
    TS_TRY(inferSameAsFirst(in));
    if (in.type(kCosines).dims)
        TS_TRY(requireDims(in, kSines, *in.type(kCosines).dims, "as large as the cosines"));
    if (!in.type(kRotated).dims)
        return {};
    const Dims& x = *in.type(kRotated).dims;
    if (x.size() != 3 && x.size() != 4)
        return in.error(
            "input 0 is " + in.type(kRotated).text() +
            " but must have 3 dimensions (batch, length, hidden) or 4 (batch, heads, length, size)");
    const bool offset = in.type(kRotaryIds).dims && in.type(kRotaryIds).dims->size() == 1;
    TS_TRY(requireDims(in, kRotaryIds, offset ? Dims{Dim(1)} : Dims{x[0], x[x.size() - 2]},
                       "a first position, or one for each of batch and length"));
    if (!in.type(kRotated).isStatic() || !in.type(kCosines).isStatic())
        return {};
    const auto shape = embeddingShape(in, in.type(kRotated).shape(), in.type(kCosines).shape()[1]);
    return shape.ok() ? Status() : Status(shape.error());
}

Status evalRotaryEmbedding(EvalContext& context) {
    const Tensor &x = context.input(kRotated), &ids = context.input(kRotaryIds),
                 &cos = context.input(kCosines);
    const OpInputs in(context.node, context.opset, {TensorType(x.type(), x.shape())}, std::vector<Tensor>(1));
    TS_ASSIGN(const RotaryShape s, embeddingShape(in, x.shape(), cos.shape()[1]));
    std::vector<std::int64_t> rows(static_cast<std::size_t>(s.batch * s.length));
    for (std::int64_t i = 0; i < s.batch * s.length; ++i) {
        rows[i] = ids.rank() == 1 ? ids.asInt(0) + i % s.length : ids.asInt(i);
        if (rows[i] < 0 || rows[i] >= cos.shape()[0])
            return context.error("position " + std::to_string(rows[i]) + " is none of the " +
                                 std::to_string(cos.shape()[0]) + " that the caches have");
    }
    rotate(s, x, cos, context.input(kSines), rows, context.outputs[0]);
    return {};
}

Status expandRotaryEmbedding(ExpandContext& context) {
    const Shape x = context.type(kRotated).shape();
    TS_ASSIGN(const RotaryShape s, embeddingShape(context, x, context.type(kCosines).shape()[1]));
    const DType type = context.type(kRotated).dtype;
    ValueId rows = context.cast(context.node.inputs[kRotaryIds], DType::i64);
    if (context.type(kRotaryIds).dims->size() == 1)
        rows = context.add("Add", rows, countedFrom(context, 0, {1, s.length}));
    const auto angles = [&](RotaryEmbeddingInput cache) {
        return context.add("Gather", context.widened(context.node.inputs[cache], type), rows);
    };
    const ValueId heads = context.reshape(context.widened(context.node.inputs[kRotated], type), s.shape());
    const ValueId y = expandRotation(context, s, heads, angles(kCosines), angles(kSines));
    context.outputs[0] = context.narrowed(context.reshape(y, x), type);
    return {};
}

} // namespace

void registerContribRotaryEmbedding(OperatorList& list) {
    addExpanded(list, "RotaryEmbedding", {4, 4}, inferRotaryEmbedding, evalRotaryEmbedding,
                expandRotaryEmbedding);
}

} // namespace tunesmith::ops
