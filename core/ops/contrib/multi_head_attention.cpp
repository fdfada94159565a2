// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/dense_attention.h"
#include "core/ops/movement.h"

// MultiHeadAttention: query [batch, queries, hidden]; keys and values as the query or as heads [batch, heads,
// length, size]; a bias for each of the three, one after the other, which heads do not get; a cache that
// grows.
namespace tunesmith::ops {
namespace {

enum MultiHeadInput : std::size_t {
    kMhaQuery,
    kMhaKey,
    kMhaValue,
    kMhaBias,
    kMhaMask,
    kMhaScores,
    kMhaPastKey,
    kMhaPastValue,
    kMhaPastLength,
    kMhaBeams
};
enum MultiHeadOutput : std::size_t { kMhaResult, kMhaPresentKey, kMhaPresentValue };

std::int64_t headCount(const Node& node) {
    return node.intAttr("num_heads", 0);
}

// Keys or values as heads.
struct HeadsOf {
    Dim batch, length, size;
};
Result<std::optional<HeadsOf>> multiHeads(const OpInputs& in, MultiHeadInput input) {
    if (!in.type(input).dims)
        return std::optional<HeadsOf>();
    const Dims& dims = *in.type(input).dims;
    const std::int64_t heads = headCount(in.node);
    if (dims.size() == 4 && input != kMhaQuery) {
        TS_TRY(requireEqual(in, dims[1], Dim(heads),
                            "input " + std::to_string(input) + " is " + in.type(input).text() +
                                ", which has not " + std::to_string(heads) + " heads"));
        return std::optional(HeadsOf{dims[0], dims[2], dims[3]});
    }
    if (dims.size() == 5)
        return in.unsupported("packed inputs (" + in.type(input).text() + ") are for GPUs");
    if (dims.size() != 3)
        return in.error("input " + std::to_string(input) + " is " + in.type(input).text() +
                        " but must have 3 dimensions (batch, length, hidden)");
    if (dims[2].known() && dims[2].extent % heads != 0)
        return in.error("input " + std::to_string(input) + " is " + in.type(input).text() +
                        ", whose last dimension cannot be split into " + std::to_string(heads) + " heads");
    return std::optional(HeadsOf{dims[0], dims[1], dims[2].known() ? Dim(dims[2].extent / heads) : Dim()});
}

Status checkMultiHeadInputs(const OpInputs& in) {
    if (headCount(in.node) < 1)
        return in.error("needs the attribute num_heads, above 0");
    TS_TRY(requireInputs(in, {kMhaQuery}));
    TS_TRY(requireFloat(in, kMhaQuery));
    for (const MultiHeadInput input : {kMhaKey, kMhaValue, kMhaBias, kMhaScores, kMhaPastKey, kMhaPastValue})
        if (in.has(input))
            TS_TRY(requireSameType(in, kMhaQuery, input));
    if (!in.has(kMhaKey) || !in.has(kMhaValue)) {
        for (const MultiHeadInput input : {kMhaQuery, kMhaKey})
            if (in.has(input) && in.type(input).dims && in.type(input).dims->size() == 5)
                return in.unsupported("packed inputs (" + in.type(input).text() + ") are for GPUs");
        return in.error("keys and values are needed");
    }
    if (in.has(kMhaPastKey) != in.has(kMhaPastValue))
        return in.error("past_key and past_value must come together");
    TS_TRY(refuseInput(in, kMhaPastLength, "past_sequence_length"));
    TS_TRY(refuseInput(in, kMhaBeams, "cache_indirection"));
    if (in.node.outputs.size() > 3 && in.node.outputs[3].valid())
        return in.unsupported("the output of scores (qk) is not supported");
    return {};
}

Status checkMultiHeadFit(const OpInputs& in, const HeadsOf& q, const HeadsOf& k, const HeadsOf& v) {
    const std::string three = "query " + in.type(kMhaQuery).text() + ", key " + in.type(kMhaKey).text() +
                              " and value " + in.type(kMhaValue).text() + " do not fit: ";
    TS_TRY(requireEqual(in, q.size, k.size, three + "heads of queries and keys must be of one size"));
    TS_TRY(requireEqual(in, k.length, v.length, three + "there must be a value for each key"));
    for (const HeadsOf& other : {k, v})
        TS_TRY(requireEqual(in, q.batch, other.batch, three + "the batch must be the same"));
    const Dim heads(headCount(in.node)), past = dimOf(in, kMhaPastKey, 2).value_or(Dim());
    TS_TRY(requireDims(in, kMhaPastKey, {q.batch, heads, past, k.size},
                       "a cache is [batch, heads, length, size]"));
    TS_TRY(requireDims(in, kMhaPastValue, {q.batch, heads, past, v.size},
                       "a cache is [batch, heads, length, size]"));
    if (q.size.known() && v.size.known())
        TS_TRY(requireDims(in, kMhaBias, {Dim(heads.extent * (2 * q.size.extent + v.size.extent))},
                           "for queries, keys and values, one after the other"));
    const Dim keys = in.has(kMhaPastKey) ? sumOf(past, k.length) : k.length;
    TS_TRY(checkDenseMask(in, kMhaMask, q.batch, q.length, keys));
    return checkDenseBias(in, kMhaScores, q.batch, heads, q.length, keys);
}

Status inferMultiHead(InferContext& in) {
    TS_TRY(checkMultiHeadInputs(in));
    for (TensorType& output : in.outputs)
        output = TensorType(in.type(kMhaQuery).dtype);
    TS_ASSIGN(const std::optional<HeadsOf> q, multiHeads(in, kMhaQuery));
    TS_ASSIGN(const std::optional<HeadsOf> k, multiHeads(in, kMhaKey));
    TS_ASSIGN(const std::optional<HeadsOf> v, multiHeads(in, kMhaValue));
    if (!q || !k || !v)
        return {};
    TS_TRY(checkMultiHeadFit(in, *q, *k, *v));
    const std::int64_t heads = headCount(in.node);
    in.outputs[kMhaResult].dims =
        Dims{q->batch, q->length, v->size.known() ? Dim(heads * v->size.extent) : Dim()};
    const Dim keys =
        in.has(kMhaPastKey) ? sumOf(dimOf(in, kMhaPastKey, 2).value_or(Dim()), k->length) : k->length;
    if (in.outputs.size() > kMhaPresentKey)
        in.outputs[kMhaPresentKey].dims = Dims{q->batch, Dim(heads), keys, k->size};
    if (in.outputs.size() > kMhaPresentValue)
        in.outputs[kMhaPresentValue].dims = Dims{q->batch, Dim(heads), keys, v->size};
    return {};
}

DenseAttention multiHeadForm(const Node& node, const Shape& q, const Shape& k, const Shape& v,
                             std::int64_t past) {
    DenseAttention form;
    const std::int64_t heads = headCount(node);
    form.shape = {q[0],
                  heads,
                  heads,
                  q[1],
                  past + k[k.size() == 3 ? 1 : 2],
                  q[2] / heads,
                  v.size() == 3 ? v[2] / heads : v[3]};
    form.past = past;
    form.mask = kMhaMask;
    form.bias = kMhaScores;
    form.read(node);
    return form;
}

// Where the bias of query, key or value begins, in heads of the query's size.
std::int64_t biasStart(const DenseAttention& form, MultiHeadInput input) {
    return static_cast<std::int64_t>(input) * form.shape.heads * form.shape.size;
}

Tensor biasedHeads(const EvalContext& context, const DenseAttention& form, MultiHeadInput input) {
    const Tensor& x = context.input(input);
    if (!context.has(kMhaBias) || x.rank() == 4)
        return headsApart(x, form.shape.heads);
    Tensor sum = Tensor::zeros(x.type(), x.shape());
    const Tensor own =
        gatherView(context.input(kMhaBias), {{x.shape()[2]}, {1}, biasStart(form, input)}, {x.shape()[2]});
    visitFloat(x.type(), [&](auto tag) {
        using T = decltype(tag);
        mapBroadcast<T, T>(x, own, sum, [](T a, T b) { return a + b; });
    });
    return headsApart(sum, form.shape.heads);
}

Status evalMultiHead(EvalContext& context) {
    const auto pastOf = [&](MultiHeadInput input) {
        return context.has(input) ? context.input(input) : Tensor();
    };
    const std::int64_t past = context.has(kMhaPastKey) ? context.input(kMhaPastKey).shape()[2] : 0;
    const DenseAttention form =
        multiHeadForm(context.node, context.input(kMhaQuery).shape(), context.input(kMhaKey).shape(),
                      context.input(kMhaValue).shape(), past);
    const Tensor k = extendedCache(pastOf(kMhaPastKey), biasedHeads(context, form, kMhaKey));
    const Tensor v = extendedCache(pastOf(kMhaPastValue), biasedHeads(context, form, kMhaValue));
    context.outputs[kMhaResult] = attendDensely(context, form, biasedHeads(context, form, kMhaQuery), k, v);
    if (context.wanted(kMhaPresentKey))
        context.outputs[kMhaPresentKey] = k;
    if (context.wanted(kMhaPresentValue))
        context.outputs[kMhaPresentValue] = v;
    return {};
}

ValueId biasedHeads(ExpandContext& context, const DenseAttention& form, MultiHeadInput input) {
    ValueId x = context.node.inputs[input];
    const Shape shape = context.type(input).shape();
    if (shape.size() == 4)
        return x;
    if (context.has(kMhaBias))
        x = context.add("Add", x,
                        context.slice(context.node.inputs[kMhaBias], 0, biasStart(form, input),
                                      biasStart(form, input) + shape[2]));
    return headsApart(context, x, shape[0], shape[1], form.shape.heads, shape[2] / form.shape.heads);
}

Status expandMultiHead(ExpandContext& context) {
    const std::int64_t past = context.has(kMhaPastKey) ? context.type(kMhaPastKey).shape()[2] : 0;
    const DenseAttention form =
        multiHeadForm(context.node, context.type(kMhaQuery).shape(), context.type(kMhaKey).shape(),
                      context.type(kMhaValue).shape(), past);
    const auto extended = [&](MultiHeadInput cache, MultiHeadInput input) {
        const ValueId more = biasedHeads(context, form, input);
        return context.has(cache) ? context.concat({context.node.inputs[cache], more}, 2) : more;
    };
    const ValueId k = extended(kMhaPastKey, kMhaKey), v = extended(kMhaPastValue, kMhaValue);
    context.outputs[kMhaResult] = expandDenseAttention(context, form, context.type(kMhaQuery).dtype,
                                                       biasedHeads(context, form, kMhaQuery), k, v);
    if (context.wanted(kMhaPresentKey))
        context.outputs[kMhaPresentKey] = k;
    if (context.wanted(kMhaPresentValue))
        context.outputs[kMhaPresentValue] = v;
    return {};
}

} // namespace

void registerContribMultiHeadAttention(OperatorList& list) {
    addExpanded(list, "MultiHeadAttention", {1, 10, 4}, inferMultiHead, evalMultiHead, expandMultiHead);
}

} // namespace tunesmith::ops
