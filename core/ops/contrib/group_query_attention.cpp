// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops/attention_core.h"
#include "core/ops/contrib/contrib.h"
#include "core/ops/movement.h"
#include "core/ops/rotary.h"

// GroupQueryAttention: causal attention with a cache of keys and values. The cache may be a buffer of a fixed
// length P of which a batch has filled seqlens_k + 1 - S rows; new keys, rotated, and values go behind them,
// and what is not filled is zero. So a decoder has static shapes: where rows are written and what a query
// sees are comparisons with seqlens_k, not extents. Where S is the total length the cache counts as empty.
namespace tunesmith::ops {
namespace {

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

bool isTotal(DType type) {
    return type == DType::i32;
}

struct GroupHeads {
    std::int64_t heads, kvHeads;
    explicit GroupHeads(const Node& node)
        : heads(node.intAttr("num_heads", 0)), kvHeads(node.intAttr("kv_num_heads", 0)) {}
};

Status checkGroupAttributes(const OpInputs& in) {
    const GroupHeads h(in.node);
    if (h.heads < 1 || h.kvHeads < 1 || h.heads % h.kvHeads != 0)
        return in.error("num_heads is " + std::to_string(h.heads) + " and kv_num_heads " +
                        std::to_string(h.kvHeads) +
                        ", but the first must be a multiple of the second, and both above 0");
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
    if (in.node.outputs.size() > kGroupScores && in.node.outputs[kGroupScores].valid())
        return in.unsupported("the output of scores (qk_output) is not supported");
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
    TS_TRY(requireRank(in, kGroupBias, 4, "batch, heads, queries and keys"));
    const std::optional<Dim> pairs = dimOf(in, kGroupCos, 1);
    if (pairs && pairs->known() && 2 * pairs->extent > size)
        return in.error("input 7 is " + in.type(kGroupCos).text() + ", which rotates more than the " +
                        std::to_string(size) + " elements of a head");
    return in.has(kGroupCos) && in.type(kGroupCos).dims
               ? requireDims(in, kGroupSin, *in.type(kGroupCos).dims, "as large as the cosines")
               : Status();
}

// How long the caches are afterwards.
Dim presentLength(const OpInputs& in) {
    const Dim past = in.has(kGroupPastKey) ? dimOf(in, kGroupPastKey, 2).value_or(Dim()) : Dim(0);
    if (!in.isConstant(kTotal) || !past.known())
        return {};
    return std::max(past.extent, in.constant(kTotal).asInt(0));
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
        TS_TRY(requireType(in, input, isTotal, "int32"));
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
    return {};
}

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

Tensor filledCache(const EvalContext& context, GroupInput input, const GroupForm& form, const Tensor& more,
                   const std::vector<std::int64_t>& past) {
    const AttentionShape& s = form.shape;
    const Shape strides{s.kvHeads * form.length * s.size, form.length * s.size, s.size, 1};
    Tensor all = Tensor::zeros(more.type(), {s.batch, s.kvHeads, form.length, s.size});
    for (std::int64_t b = 0; b < s.batch; ++b) {
        const auto copyRows = [&](const Tensor& from, std::int64_t count, std::int64_t to) {
            const std::int64_t rows = from.shape()[2];
            const Shape shape{s.kvHeads, count, s.size};
            copyView(from, {shape, {rows * s.size, s.size, 1}, b * s.kvHeads * rows * s.size}, all,
                     {shape, {strides[1], strides[2], 1}, b * strides[0] + to * s.size});
        };
        if (past[b] > 0 && context.has(input))
            copyRows(context.input(input), past[b], 0);
        copyRows(more, s.queries, past[b]);
    }
    return all;
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

Status evalGroupAttention(EvalContext& context) {
    const std::int64_t rows = context.has(kGroupPastKey) ? context.input(kGroupPastKey).shape()[2] : 0;
    const std::int64_t pairs =
        context.node.intAttr("do_rotary", 0) != 0 ? context.input(kGroupCos).shape()[1] : 0;
    GroupForm form(inputsOf(context), context.input(kGroupQuery).shape(), pairs,
                   std::max(rows, context.input(kTotal).asInt(0)));
    AttentionShape& s = form.shape;
    const std::vector<std::int64_t> past = filledBefore(context, s);
    for (const std::int64_t filled : past)
        if (filled < 0 || filled + s.queries > form.length || (filled > rows))
            return context.error("seqlens_k says that " + std::to_string(filled) +
                                 " rows of the cache are filled, which has " + std::to_string(rows) +
                                 " and gets " + std::to_string(s.queries));
    const GroupTensors heads = groupTensors(context, s);
    TS_ASSIGN(const Tensor q, rotatedHeads(context, form, heads.q, past));
    TS_ASSIGN(const Tensor rotatedKeys, rotatedHeads(context, form, heads.k, past));
    const Tensor k = filledCache(context, kGroupPastKey, form, rotatedKeys, past),
                 v = filledCache(context, kGroupPastValue, form, heads.v, past);
    s.keys += form.extraKey ? 1 : 0;
    Tensor y = Tensor::zeros(q.type(), {s.batch, s.heads, s.queries, s.size});
    attend(s, form.rule, q, form.extraKey ? withExtraKey(k) : k, form.extraKey ? withExtraKey(v) : v,
           groupBias(context, form, past), y);
    context.outputs[kGroupResult] = headsTogether(y);
    if (context.wanted(kGroupPresentKey))
        context.outputs[kGroupPresentKey] = k;
    if (context.wanted(kGroupPresentValue))
        context.outputs[kGroupPresentValue] = v;
    return {};
}

// The node as others.
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
        c_.outputs[kGroupResult] = c_.narrowed(
            c_.reshape(c_.transpose(made.y, {0, 2, 1, 3}), {s_.batch, s_.queries, s_.heads * s_.size}),
            type_);
        if (c_.wanted(kGroupPresentKey))
            c_.outputs[kGroupPresentKey] = presentKey;
        if (c_.wanted(kGroupPresentValue))
            c_.outputs[kGroupPresentValue] = presentValue;
    }

private:
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
                                                                  counted(s_.queries, {1, s_.queries}));
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

    // The cache with the new rows where it is filled, and zeros behind them.
    ValueId cache(GroupInput input, ValueId more) {
        if (starts_)
            return form_.length == s_.queries ? more
                                              : c_.concat({more, zeros(type_, form_.length - s_.queries)}, 2);
        const std::int64_t rows = c_.has(input) ? c_.type(input).shape()[2] : 0;
        std::vector<ValueId> before;
        if (rows > 0)
            before.push_back(c_.node.inputs[input]);
        if (rows < form_.length)
            before.push_back(zeros(type_, form_.length - rows));
        const ValueId row = counted(form_.length, {1, 1, form_.length, 1}), since = c_.add("Sub", row, past_);
        ValueId fresh = more;
        if (s_.queries > 1) {
            const ValueId at = c_.add("Min", c_.add("Max", since, number(0)), number(s_.queries - 1));
            const ValueId everywhere =
                c_.addConstant(Tensor::zeros(DType::i64, {s_.batch, s_.kvHeads, form_.length, s_.size}));
            fresh =
                c_.add("GatherElements", {more, c_.add("Add", at, everywhere)}, {{"axis", std::int64_t{2}}});
        }
        const ValueId kept =
            c_.add("Where", {c_.add("Less", since, number(s_.queries)), fresh, c_.number(type_, 0)});
        return c_.add("Where", {c_.add("Less", since, number(0)), c_.concat(before, 2), kept});
    }

    // What is added to scores [batch, heads, queries, keys]: minus infinity where a key is not seen.
    ValueId visible() {
        const ValueId key = counted(form_.length, {1, 1, 1, form_.length});
        ValueId seen;
        if (form_.causal) {
            const ValueId position = c_.add("Add", past_, counted(s_.queries, {1, 1, s_.queries, 1}));
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
    ValueId counted(std::int64_t count, const Shape& shape) {
        std::vector<std::int64_t> values(static_cast<std::size_t>(count));
        std::iota(values.begin(), values.end(), 0);
        return c_.addConstant(Tensor::ofInts(values).reshaped(shape));
    }

    ExpandContext& c_;
    const GroupForm& form_;
    const AttentionShape& s_;
    const DType type_, wide_;
    const bool starts_; // the caches are known to be empty
    ValueId past_, cos_, sin_;
};

Status expandGroupAttention(ExpandContext& context) {
    for (const GroupOutput output : {kGroupPresentKey, kGroupPresentValue})
        if (!context.wanted(output) && !context.isConstant(kTotal))
            return context.unsupported("how long its caches become is known when it runs");
    const std::int64_t rows =
        context.wanted(kGroupPresentKey)
            ? context.outputType(kGroupPresentKey).shape()[2]
            : std::max(context.has(kGroupPastKey) ? context.type(kGroupPastKey).shape()[2] : 0,
                       context.constant(kTotal).asInt(0));
    const std::int64_t pairs =
        context.node.intAttr("do_rotary", 0) != 0 ? context.type(kGroupCos).shape()[1] : 0;
    GroupWriter(context, GroupForm(context, context.type(kGroupQuery).shape(), pairs, rows)).write();
    return {};
}

} // namespace

void registerContribGroupQueryAttention(OperatorList& list) {
    addExpanded(list, "GroupQueryAttention", {1, 16, 4}, inferGroupAttention, evalGroupAttention,
                expandGroupAttention);
}

} // namespace tunesmith::ops
