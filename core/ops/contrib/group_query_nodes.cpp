// SPDX-License-Identifier: GPL-3.0-or-later
#include <limits>

#include "core/ops/contrib/cache_buffer.h"
#include "core/ops/contrib/dense_attention.h"
#include "core/ops/contrib/group_query.h"

// GroupQueryAttention as other nodes. How far a cache is filled is a comparison of places with seqlens_k, so
// that shapes are static.
namespace tunesmith::ops {
namespace {

class GroupWriter {
public:
    GroupWriter(ExpandContext& context, const GroupForm& form)
        : c_(context), form_(form), s_(form.shape), type_(context.type(kGroupQuery).dtype),
          wide_(computeType(type_)),
          starts_(context.isConstant(kTotal) && context.constant(kTotal).asInt(0) == s_.queries) {}

    void write() {
        readPast();
        const auto [q, k, v] = heads();
        const ValueId presentKey = cache(kGroupPastKey, c_.narrowed(rotated(k, s_.kvHeads), type_)),
                      presentValue = cache(kGroupPastValue, v);
        ValueId keys = c_.widened(presentKey, type_), values = c_.widened(presentValue, type_),
                bias = visible();
        AttentionShape shape = s_;
        if (form_.extraKey) {
            ++shape.keys;
            keys = withExtraKey(keys);
            values = withExtraKey(values);
            bias = withSink(bias);
        }
        const AttentionNodes made =
            expandAttention(c_, shape, form_.rule, wide_, rotated(q, s_.heads), keys, values, bias);
        if (c_.wanted(kGroupScores))
            c_.outputs[kGroupScores] = scores(made);
        c_.outputs[kGroupResult] = c_.narrowed(
            c_.reshape(c_.transpose(made.y, {0, 2, 1, 3}), {s_.batch, s_.queries, s_.heads * s_.size}),
            type_);
        if (c_.wanted(kGroupPresentKey))
            c_.outputs[kGroupPresentKey] = presentKey;
        if (c_.wanted(kGroupPresentValue))
            c_.outputs[kGroupPresentValue] = presentValue;
    }

private:
    // Scores or probabilities of the keys that there are; those that are not seen have zero.
    ValueId scores(const AttentionNodes& made) {
        const bool before = c_.node.intAttr("qk_output", 0) == 1;
        const std::int64_t total = c_.outputType(kGroupScores).shape()[3];
        const auto part = [&](ValueId value) { return c_.slice(value, 3, 0, total); };
        const ValueId all = part(before ? made.biased : made.probabilities);
        return c_.narrowed(c_.add("Where", {part(seen_), all, c_.number(wide_, 0)}), type_);
    }

    struct Heads {
        ValueId q, k, v;
    };

    // How many rows each cache has filled, int64 [batch, 1, 1, 1].
    void readPast() {
        if (starts_) {
            past_ = c_.addConstant(Tensor::zeros(DType::i64, {s_.batch, 1, 1, 1}));
            return;
        }
        const ValueId lengths =
            c_.reshape(c_.cast(c_.node.inputs[kSeqLens], DType::i64), {s_.batch, 1, 1, 1});
        past_ = s_.queries == 1 ? lengths : c_.add("Sub", lengths, number(s_.queries - 1));
        if (s_.queries == 1 || c_.isConstant(kTotal))
            return;
        const ValueId total = c_.reshape(c_.cast(c_.node.inputs[kTotal], DType::i64), {});
        past_ = c_.add("Where", {c_.add("Equal", total, number(s_.queries)), number(0), past_});
    }

    Heads heads() {
        const auto apart = [&](ValueId value, std::int64_t count) {
            return c_.transpose(c_.reshape(value, {s_.batch, s_.queries, count, s_.size}), {0, 2, 1, 3});
        };
        const auto& in = c_.node.inputs;
        if (c_.has(kGroupKey))
            return {apart(in[kGroupQuery], s_.heads), apart(in[kGroupKey], s_.kvHeads),
                    apart(in[kGroupValue], s_.kvHeads)};
        const auto part = [&](std::int64_t first, std::int64_t count) {
            return apart(c_.slice(in[kGroupQuery], 2, first * s_.size, (first + count) * s_.size), count);
        };
        return {part(0, s_.heads), part(s_.heads, s_.kvHeads), part(s_.heads + s_.kvHeads, s_.kvHeads)};
    }

    // Wide, turned by the angles of their positions.
    ValueId rotated(ValueId x, std::int64_t heads) {
        x = c_.widened(x, type_);
        if (form_.rotary.rotated == 0)
            return x;
        if (!cos_.valid()) {
            const ValueId rows = c_.has(kGroupPositions) ? c_.node.inputs[kGroupPositions]
                                                         : c_.add("Add", c_.reshape(past_, {s_.batch, 1}),
                                                                  countedFrom(c_, 0, {1, s_.queries}));
            cos_ = c_.add("Gather", c_.widened(c_.node.inputs[kGroupCos], type_), rows);
            sin_ = c_.add("Gather", c_.widened(c_.node.inputs[kGroupSin], type_), rows);
        }
        RotaryShape shape = form_.rotary;
        shape.heads = heads;
        return expandRotation(c_, shape, x, cos_, sin_);
    }

    ValueId zeros(DType type, std::int64_t rows) {
        return c_.addConstant(Tensor::zeros(type, {s_.batch, s_.kvHeads, rows, s_.size}));
    }

    ValueId cache(GroupInput input, ValueId more) {
        if (starts_)
            return form_.length == s_.queries ? more
                                              : c_.concat({more, zeros(type_, form_.length - s_.queries)}, 2);
        const std::int64_t rows = c_.has(input) ? c_.type(input).shape()[2] : 0;
        const CacheBuffer buffer{s_.batch, s_.kvHeads, s_.size, rows, s_.queries, form_.length};
        return writeCache(c_, buffer, type_, rows > 0 ? c_.node.inputs[input] : ValueId(), more, past_);
    }

    // The bias of scores [batch, heads, queries, keys] has minus infinity where a key is not seen.
    ValueId visible() {
        const ValueId key = countedFrom(c_, 0, {1, 1, 1, form_.length});
        ValueId seen;
        if (form_.causal) {
            const ValueId position = c_.add("Add", past_, countedFrom(c_, 0, {1, 1, s_.queries, 1}));
            seen = c_.add("Not", {c_.add("Greater", key, position)});
            if (form_.window >= 0)
                seen = c_.add("And", seen,
                              c_.add("Greater", key, c_.add("Sub", position, number(form_.window))));
        } else {
            seen = c_.add("Less", key, c_.add("Add", past_, number(s_.queries)));
        }
        ValueId added = c_.number(wide_, 0);
        if (c_.has(kGroupBias)) {
            Shape missing = c_.type(kGroupBias).shape();
            added = c_.widened(c_.node.inputs[kGroupBias], type_);
            missing[3] = form_.length - missing[3];
            if (missing[3] > 0)
                added = c_.concat({added, c_.addConstant(Tensor::zeros(wide_, missing))}, 3);
        }
        seen_ = seen;
        return c_.add("Where", {seen, added, c_.number(wide_, -std::numeric_limits<double>::infinity())});
    }

    ValueId withExtraKey(ValueId cache) { return c_.concat({cache, zeros(wide_, 1)}, 2); }
    ValueId withSink(ValueId bias) {
        ValueId sink = c_.number(wide_, 0);
        if (c_.has(kSink))
            sink = c_.reshape(c_.widened(c_.node.inputs[kSink], type_), {1, s_.heads, 1, 1});
        const ValueId column =
            c_.add("Add", sink, c_.addConstant(Tensor::zeros(wide_, {s_.batch, s_.heads, s_.queries, 1})));
        return c_.concat(
            {c_.add("Add", bias, c_.addConstant(Tensor::zeros(wide_, {s_.batch, s_.heads, 1, 1}))), column},
            3);
    }

    ValueId number(std::int64_t value) { return c_.addConstant(Tensor::scalar(value)); }

    ExpandContext& c_;
    const GroupForm& form_;
    const AttentionShape& s_;
    const DType type_, wide_;
    const bool starts_; // the caches are known to be empty
    ValueId past_, cos_, sin_, seen_;
};

} // namespace

Status expandGroupAttention(ExpandContext& context) {
    for (const GroupOutput output : {kGroupPresentKey, kGroupPresentValue})
        if (!context.wanted(output) && !context.isConstant(kTotal))
            return context.unsupported("how long its caches become is known when it runs");
    const std::int64_t rows =
        context.wanted(kGroupPresentKey)
            ? context.outputType(kGroupPresentKey).shape()[2]
            : std::max(context.has(kGroupPastKey) ? context.type(kGroupPastKey).shape()[2] : 0,
                       context.constant(kTotal).asInt(0));
    if (context.has(kGroupBias) && context.type(kGroupBias).shape()[3] > rows)
        return context.unsupported("input 10 is " + context.type(kGroupBias).text() +
                                   ", which has more keys than the " + std::to_string(rows) +
                                   " rows of the cache");
    const std::int64_t pairs =
        context.node.intAttr("do_rotary", 0) != 0 ? context.type(kGroupCos).shape()[1] : 0;
    const GroupForm form(context, context.type(kGroupQuery).shape(), pairs, rows);
    TS_TRY(requireElements(context, form.shape));
    GroupWriter(context, form).write();
    return {};
}

} // namespace tunesmith::ops
