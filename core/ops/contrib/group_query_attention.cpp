// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <limits>

#include "core/ops/contrib/cache_buffer.h"
#include "core/ops/contrib/dense_attention.h"
#include "core/ops/contrib/group_query.h"
#include "core/ops/movement.h"

// GroupQueryAttention: causal attention with a cache of keys and values. The cache may be a buffer of a fixed
// length P of which a batch has filled seqlens_k + 1 - S rows; new keys, rotated, and values go behind them,
// and what is not filled is zero. So a decoder has static shapes: where rows are written and what a query
// sees are comparisons with seqlens_k, not extents. Where S is the total length the cache counts as empty.
namespace tunesmith::ops {
namespace {

Status checkGroupAttributes(const OpInputs& in) {
    const GroupHeads h(in.node);
    if (h.heads < 1 || h.heads > kMostHeads || h.kvHeads < 1 || h.heads % h.kvHeads != 0)
        return in.error("num_heads is " + std::to_string(h.heads) + " and kv_num_heads " +
                        std::to_string(h.kvHeads) +
                        ", but the first must be a multiple of the second, and both above 0 and at most " + std::to_string(kMostHeads));
    for (const auto& [input, name] : {std::pair(kKeyScale, "k_scale"),
                                      {kValueScale, "v_scale"},
                                      {kQueryNorm, "q_norm_weight"},
                                      {kKeyNorm, "k_norm_weight"}})
        TS_TRY(refuseInput(in, input, name));
    for (const char* name : {"k_quant_type", "v_quant_type"})
        if (in.node.stringAttr(name, "NONE") != "NONE")
            return in.unsupported(std::string(name) + ": caches of quantised numbers are not supported");
    if (in.node.intAttr("sliding_window_cache", 0) != 0)
        return in.unsupported("sliding_window_cache is not supported");
    const std::int64_t shown = in.node.intAttr("qk_output", 0);
    const bool wanted = in.node.outputs.size() > kGroupScores && in.node.outputs[kGroupScores].valid();
    if (shown < 0 || shown > 2 || (wanted && shown == 0))
        return in.error("qk_output is " + std::to_string(shown) +
                        ", but must be 1 (scores) or 2 (probabilities) where output 3 is wanted");
    if (in.has(kGroupKey) != in.has(kGroupValue) || in.has(kGroupPastKey) != in.has(kGroupPastValue))
        return in.error("keys and values must come together, and so must those of the cache");
    if (in.node.intAttr("do_rotary", 0) != 0 && (!in.has(kGroupCos) || !in.has(kGroupSin)))
        return in.error("do_rotary needs cos_cache and sin_cache");
    return {};
}

// The size of a head; no value where it is not known.
Result<std::optional<std::int64_t>> groupHeadSize(const OpInputs& in) {
    const GroupHeads h(in.node);
    const std::int64_t heads = in.has(kGroupKey) ? h.heads : h.heads + 2 * h.kvHeads;
    const std::optional<Dim> width = dimOf(in, kGroupQuery, 2);
    if (!width || !width->known())
        return std::optional<std::int64_t>();
    if (width->extent % heads != 0)
        return in.error("input 0 is " + in.type(kGroupQuery).text() +
                        ", whose last dimension cannot be split into " + std::to_string(heads) + " heads");
    return std::optional(width->extent / heads);
}

// How long the caches are afterwards.
Dim presentLength(const OpInputs& in) {
    const Dim past = in.has(kGroupPastKey) ? dimOf(in, kGroupPastKey, 2).value_or(Dim()) : Dim(0);
    if (!in.isConstant(kTotal) || !past.known())
        return {};
    return std::max(past.extent, in.constant(kTotal).asInt(0));
}

// attention_bias has a number for each key of the total length, and at most for each row of the caches.
Status checkGroupBias(const OpInputs& in) {
    const Dims& query = *in.type(kGroupQuery).dims;
    const GroupHeads h(in.node);
    TS_TRY(checkDenseBias(in, kGroupBias, query[0], Dim(h.heads), query[1], presentLength(in), true));
    const Dim keys = dimOf(in, kGroupBias, 3).value_or(Dim());
    if (!keys.known() || !in.isConstant(kTotal) || keys.extent >= in.constant(kTotal).asInt(0))
        return {};
    return in.error("input 10 is " + in.type(kGroupBias).text() + " but must have a number for each of " +
                    std::to_string(in.constant(kTotal).asInt(0)) + " keys");
}

Status checkGroupShapes(const OpInputs& in, std::int64_t size) {
    const GroupHeads h(in.node);
    const Dims& query = *in.type(kGroupQuery).dims;
    for (const GroupInput input : {kGroupKey, kGroupValue})
        TS_TRY(requireDims(in, input, {query[0], query[1], Dim(h.kvHeads * size)},
                           "keys and values of the query's batch and length"));
    for (const GroupInput past : {kGroupPastKey, kGroupPastValue})
        TS_TRY(requireDims(in, past,
                           {query[0], Dim(h.kvHeads), dimOf(in, kGroupPastKey, 2).value_or(Dim()), Dim(size)},
                           "a cache is [batch, heads, length, size]"));
    if (in.has(kSeqLens) && in.type(kSeqLens).isStatic() && query[0].known() &&
        elementCount(in.type(kSeqLens).shape()) != query[0].extent)
        return in.error("input 5 is " + in.type(kSeqLens).text() +
                        " but must have one length for each of the batch");
    TS_TRY(requireDims(in, kGroupPositions, {query[0], query[1]}, "one position for each query"));
    TS_TRY(requireDims(in, kSink, {Dim(h.heads)}, "one number for each head"));
    TS_TRY(checkGroupBias(in));
    for (const GroupInput angles : {kGroupCos, kGroupSin})
        TS_TRY(requireRank(in, angles, 2, "positions and angles"));
    const std::optional<Dim> pairs = dimOf(in, kGroupCos, 1);
    if (pairs && pairs->known() && 2 * pairs->extent > size)
        return in.error("input 7 is " + in.type(kGroupCos).text() + ", which rotates more than the " +
                        std::to_string(size) + " elements of a head");
    return in.has(kGroupCos) && in.type(kGroupCos).dims
               ? requireDims(in, kGroupSin, *in.type(kGroupCos).dims, "as large as the cosines")
               : Status();
}

Status inferGroupAttention(InferContext& in) {
    TS_TRY(requireInputs(in, {kGroupQuery, kSeqLens, kTotal}));
    TS_TRY(checkGroupAttributes(in));
    TS_TRY(requireFloat(in, kGroupQuery));
    for (const GroupInput input :
         {kGroupKey, kGroupValue, kGroupPastKey, kGroupPastValue, kGroupCos, kGroupSin, kGroupBias, kSink})
        if (in.has(input))
            TS_TRY(requireSameType(in, kGroupQuery, input));
    for (const GroupInput input : {kSeqLens, kTotal})
        TS_TRY(requireInt32(in, input));
    if (in.has(kGroupPositions))
        TS_TRY(requireIndexType(in, kGroupPositions));
    TS_TRY(requireOneElement(in, kTotal));
    TS_TRY(requireRank(in, kGroupQuery, 3, "batch, sequence and heads"));
    for (TensorType& output : in.outputs)
        output = TensorType(in.type(kGroupQuery).dtype);
    TS_ASSIGN(const std::optional<std::int64_t> size, groupHeadSize(in));
    if (!size)
        return {};
    TS_TRY(checkGroupShapes(in, *size));
    const GroupHeads h(in.node);
    const Dims& query = *in.type(kGroupQuery).dims;
    in.outputs[kGroupResult].dims = Dims{query[0], query[1], Dim(h.heads * *size)};
    for (std::size_t i = kGroupPresentKey; i < std::min<std::size_t>(in.outputs.size(), kGroupScores); ++i)
        in.outputs[i].dims = Dims{query[0], Dim(h.kvHeads), presentLength(in), Dim(*size)};
    if (in.outputs.size() > kGroupScores)
        in.outputs[kGroupScores].dims =
            Dims{query[0], Dim(h.heads), query[1],
                 in.isConstant(kTotal) ? Dim(in.constant(kTotal).asInt(0)) : Dim()};
    return {};
}

OpInputs inputsOf(const EvalContext& context) {
    std::vector<TensorType> types(context.node.inputs.size());
    return {context.node, context.opset, types, std::vector<Tensor>(types.size())};
}

// The kernel: heads of queries, keys and values, whether they come packed or not.
struct GroupTensors {
    Tensor q, k, v;
};
GroupTensors groupTensors(const EvalContext& context, const AttentionShape& s) {
    if (context.has(kGroupKey))
        return {headsApart(context.input(kGroupQuery), s.heads),
                headsApart(context.input(kGroupKey), s.kvHeads),
                headsApart(context.input(kGroupValue), s.kvHeads)};
    const Tensor& x = context.input(kGroupQuery);
    const std::int64_t width = x.shape()[2];
    const auto part = [&](std::int64_t first, std::int64_t heads) {
        const Shape shape{s.batch, heads, s.queries, s.size};
        return gatherView(x, {shape, {s.queries * width, s.size, width, 1}, first * s.size}, shape);
    };
    return {part(0, s.heads), part(s.heads, s.kvHeads), part(s.heads + s.kvHeads, s.kvHeads)};
}

std::vector<std::int64_t> filledBefore(const EvalContext& context, const AttentionShape& s) {
    std::vector<std::int64_t> past(static_cast<std::size_t>(s.batch));
    if (context.input(kTotal).asInt(0) != s.queries)
        for (std::int64_t b = 0; b < s.batch; ++b)
            past[b] = context.input(kSeqLens).asInt(b) + 1 - s.queries;
    return past;
}

Result<Tensor> rotatedHeads(const EvalContext& context, const GroupForm& form, const Tensor& x,
                            const std::vector<std::int64_t>& past) {
    if (form.rotary.rotated == 0)
        return x;
    RotaryShape s = form.rotary;
    s.heads = x.shape()[1];
    const std::int64_t known = context.input(kGroupCos).shape()[0];
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < s.batch * s.length; ++i) {
        rows.push_back(context.has(kGroupPositions) ? context.input(kGroupPositions).asInt(i)
                                                    : past[i / s.length] + i % s.length);
        if (rows.back() < 0 || rows.back() >= known)
            return context.error("position " + std::to_string(rows.back()) + " is none of the " +
                                 std::to_string(known) + " that the caches of angles have");
    }
    Tensor y = Tensor::zeros(x.type(), x.shape());
    rotate(s, x, context.input(kGroupCos), context.input(kGroupSin), rows, y);
    return y;
}

Tensor groupBias(const EvalContext& context, const GroupForm& form, const std::vector<std::int64_t>& past) {
    const AttentionShape& s = form.shape;
    Tensor bias = Tensor::zeros(DType::f64, {s.batch, s.heads, s.queries, s.keys});
    const Shape own = context.has(kGroupBias) ? context.input(kGroupBias).shape() : Shape{1, 1, 1, 0};
    double* out = bias.mutableData<double>().data();
    for (std::int64_t row = 0; row < s.batch * s.heads * s.queries; ++row)
        for (std::int64_t j = 0; j < s.keys; ++j) {
            const std::int64_t i = row % s.queries, h = row / s.queries % s.heads,
                               b = row / s.queries / s.heads;
            const bool extra = j == form.length;
            const double added =
                j < own[3]
                    ? context.input(kGroupBias)
                          .asDouble((((own[0] == 1 ? 0 : b) * own[1] + (own[1] == 1 ? 0 : h)) * own[2] + i) *
                                        own[3] +
                                    j)
                    : 0;
            const bool seen = form.sees(past[b] + i, j, past[b] + s.queries);
            *out++ = extra  ? context.has(kSink) ? context.input(kSink).asDouble(h) : 0
                     : seen ? added
                            : -std::numeric_limits<double>::infinity();
        }
    return bias;
}

// Another row of zeros behind the keys.
Tensor withExtraKey(const Tensor& cache) {
    return extendedCache(
        cache, Tensor::zeros(cache.type(), {cache.shape()[0], cache.shape()[1], 1, cache.shape()[3]}));
}

// Writes rows of scores or probabilities; keys that are not seen have zero.
ShowScores scoresShown(EvalContext& context, const GroupForm& form, const std::vector<std::int64_t>& past) {
    if (!context.wanted(kGroupScores))
        return {};
    const AttentionStep wanted =
        context.node.intAttr("qk_output", 0) == 1 ? AttentionStep::biased : AttentionStep::probabilities;
    return [&context, &form, &past, wanted](AttentionStep step, std::int64_t row,
                                            std::span<const double> scores) {
        const AttentionShape& s = form.shape;
        const std::int64_t total = context.outputs[kGroupScores].shape()[3], b = row / s.queries / s.heads;
        visitFloat(context.outputs[kGroupScores].type(), [&](auto tag) {
            using T = decltype(tag);
            const auto out = context.outputs[kGroupScores].mutableData<T>().subspan(row * total, total);
            for (std::int64_t j = 0; j < total && step == wanted; ++j)
                if (form.sees(past[b] + row % s.queries, j, past[b] + s.queries))
                    out[j] = static_cast<T>(scores[j]);
        });
    };
}

Status evalGroupAttention(EvalContext& context) {
    const std::int64_t rows = context.has(kGroupPastKey) ? context.input(kGroupPastKey).shape()[2] : 0;
    const std::int64_t pairs =
        context.node.intAttr("do_rotary", 0) != 0 ? context.input(kGroupCos).shape()[1] : 0;
    GroupForm form(inputsOf(context), context.input(kGroupQuery).shape(), pairs,
                   std::max(rows, context.input(kTotal).asInt(0)));
    AttentionShape& s = form.shape;
    if (const std::int64_t total = context.input(kTotal).asInt(0); total < 0)
        return context.error("total_sequence_length is " + std::to_string(total) + " but cannot be negative");
    const std::vector<std::int64_t> past = filledBefore(context, s);
    for (const std::int64_t filled : past)
        if (filled < 0 || filled + s.queries > form.length || (filled > rows))
            return context.error("seqlens_k says that " + std::to_string(filled) +
                                 " rows of the cache are filled, which has " + std::to_string(rows) +
                                 " and gets " + std::to_string(s.queries));
    const GroupTensors heads = groupTensors(context, s);
    TS_ASSIGN(const Tensor q, rotatedHeads(context, form, heads.q, past));
    TS_ASSIGN(const Tensor rotatedKeys, rotatedHeads(context, form, heads.k, past));
    const auto cached = [&](GroupInput input, const Tensor& more) {
        return writtenCache(context.has(input) ? context.input(input) : Tensor(), more, past, form.length);
    };
    const Tensor k = cached(kGroupPastKey, rotatedKeys), v = cached(kGroupPastValue, heads.v);
    s.keys += form.extraKey ? 1 : 0;
    Tensor y = Tensor::zeros(q.type(), {s.batch, s.heads, s.queries, s.size});
    attend(s, form.rule, q, form.extraKey ? withExtraKey(k) : k, form.extraKey ? withExtraKey(v) : v,
           groupBias(context, form, past), y, scoresShown(context, form, past));
    context.outputs[kGroupResult] = headsTogether(y);
    if (context.wanted(kGroupPresentKey))
        context.outputs[kGroupPresentKey] = k;
    if (context.wanted(kGroupPresentValue))
        context.outputs[kGroupPresentValue] = v;
    return {};
}

} // namespace

void registerContribGroupQueryAttention(OperatorList& list) {
    addExpanded(list, "GroupQueryAttention", {1, 16, 4}, inferGroupAttention, evalGroupAttention,
                expandGroupAttention);
}

} // namespace tunesmith::ops
