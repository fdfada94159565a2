// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/dense_attention.h"
#include "core/ops/movement.h"

// MultiHeadAttention: query [batch, queries, hidden]; keys and values as the query or as heads [batch, heads,
// length, size]; or packed, queries, keys and values as one input [batch, length, heads, 3, size], or keys
// and values as one with 2. A bias for each of the three, one after the other, which heads do not get. A
// cache that grows, or a buffer of which past_sequence_length says how many rows are filled. Output 3 are the
// scores before the softmax.
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
enum MultiHeadOutput : std::size_t { kMhaResult, kMhaPresentKey, kMhaPresentValue, kMhaQk };

std::int64_t headCount(const Node& node) {
    return node.intAttr("num_heads", 0);
}

// The input that holds queries, keys or values.
MultiHeadInput holderOf(const Node& node, MultiHeadInput input) {
    if (node.hasInput(input))
        return input;
    return input == kMhaValue && node.hasInput(kMhaKey) ? kMhaKey : kMhaQuery;
}

// How many of the three an input of 5 dimensions holds.
std::int64_t packedCount(MultiHeadInput holder) {
    return holder == kMhaQuery ? 3 : 2;
}

// Keys or values as heads.
struct HeadsOf {
    Dim batch, length, size;
};
Result<std::optional<HeadsOf>> multiHeads(const OpInputs& in, MultiHeadInput which) {
    const MultiHeadInput input = holderOf(in.node, which);
    if (!in.type(input).dims)
        return std::optional<HeadsOf>();
    const Dims& dims = *in.type(input).dims;
    const std::int64_t heads = headCount(in.node);
    if (dims.size() == 5) {
        TS_TRY(requireDims(in, input, {dims[0], dims[1], Dim(heads), Dim(packedCount(input)), dims[4]},
                           "batch, length, heads, the packed ones and size"));
        return std::optional(HeadsOf{dims[0], dims[1], dims[4]});
    }
    if (input != which)
        return in.error("input " + std::to_string(which) + " is missing, and input " + std::to_string(input) +
                        " is " + in.type(input).text() + ", which is not packed");
    if (dims.size() == 4 && input != kMhaQuery) {
        TS_TRY(requireEqual(in, dims[1], Dim(heads),
                            "input " + std::to_string(input) + " is " + in.type(input).text() +
                                ", which has not " + std::to_string(heads) + " heads"));
        return std::optional(HeadsOf{dims[0], dims[2], dims[3]});
    }
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
    if (in.has(kMhaValue) && !in.has(kMhaKey))
        return in.error("values need keys");
    if (in.has(kMhaPastKey) != in.has(kMhaPastValue))
        return in.error("past_key and past_value must come together");
    if (in.has(kMhaPastLength)) {
        TS_TRY(requireInt32(in, kMhaPastLength));
        TS_TRY(requireOneElement(in, kMhaPastLength));
    }
    return refuseInput(in, kMhaBeams, "cache_indirection");
}

bool hasBuffer(const Node& node) {
    return node.hasInput(kMhaPastLength) && node.hasInput(kMhaPastKey);
}

// Keys that there are afterwards, filled or not.
Dim presentKeys(const OpInputs& in, const Dim& more) {
    const Dim past = dimOf(in, kMhaPastKey, 2).value_or(Dim());
    return hasBuffer(in.node) ? past : in.has(kMhaPastKey) ? sumOf(past, more) : more;
}

Status checkMultiHeadFit(const OpInputs& in, const HeadsOf& q, const HeadsOf& k, const HeadsOf& v) {
    const auto text = [&](MultiHeadInput input) { return in.type(holderOf(in.node, input)).text(); };
    const std::string three = "query " + text(kMhaQuery) + ", key " + text(kMhaKey) + " and value " +
                              text(kMhaValue) + " do not fit: ";
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
    const Dim keys = presentKeys(in, k.length);
    TS_TRY(
        checkDenseMask(in, kMhaMask, q.batch, q.length, keys, presentKeys(in, q.length), hasBuffer(in.node)));
    return checkDenseBias(in, kMhaScores, q.batch, heads, q.length, keys, hasBuffer(in.node));
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
    const Dim keys = presentKeys(in, k->length);
    if (in.outputs.size() > kMhaPresentKey)
        in.outputs[kMhaPresentKey].dims = Dims{q->batch, Dim(heads), keys, k->size};
    if (in.outputs.size() > kMhaPresentValue)
        in.outputs[kMhaPresentValue].dims = Dims{q->batch, Dim(heads), keys, v->size};
    if (in.outputs.size() > kMhaQk)
        in.outputs[kMhaQk].dims = Dims{q->batch, Dim(heads), q->length, keys};
    return {};
}

// Length and size of the heads that queries, keys or values of this shape have.
std::pair<std::int64_t, std::int64_t> lengthAndSize(const Shape& shape, std::int64_t heads) {
    return shape.size() == 4   ? std::pair(shape[2], shape[3])
           : shape.size() == 5 ? std::pair(shape[1], shape[4])
                               : std::pair(shape[1], shape[2] / heads);
}

template <class ShapeOf> DenseAttention multiHeadForm(const Node& node, const ShapeOf& shapeOf) {
    DenseAttention form;
    const std::int64_t heads = headCount(node),
                       past = node.hasInput(kMhaPastKey) ? shapeOf(kMhaPastKey)[2] : 0;
    const auto held = [&](MultiHeadInput input) {
        return lengthAndSize(shapeOf(holderOf(node, input)), heads);
    };
    const auto [queries, size] = held(kMhaQuery);
    const auto [more, keySize] = held(kMhaKey);
    form.shape = {shapeOf(kMhaQuery)[0], heads, heads, queries, hasBuffer(node) ? past : past + more, size,
                  held(kMhaValue).second};
    form.past = past;
    form.fresh = more;
    form.mask = kMhaMask;
    form.bias = kMhaScores;
    form.filled = hasBuffer(node) ? static_cast<std::size_t>(kMhaPastLength) : kNoPlace;
    form.read(node);
    return form;
}

// Where the bias of query, key or value begins, in heads of the query's size.
std::int64_t biasStart(const DenseAttention& form, MultiHeadInput input) {
    return static_cast<std::int64_t>(input) * form.shape.heads * form.shape.size;
}

// Queries, keys or values [batch, length, hidden], or heads as they are.
Tensor unpacked(const EvalContext& context, MultiHeadInput input) {
    const MultiHeadInput holder = holderOf(context.node, input);
    const Tensor& x = context.input(holder);
    if (x.rank() != 5)
        return x;
    const Shape& s = x.shape();
    const Shape part{s[0] * s[1], s[2], s[4]};
    return gatherView(
               x,
               {part, {s[2] * s[3] * s[4], s[3] * s[4], 1}, static_cast<std::int64_t>(input - holder) * s[4]},
               part)
        .reshaped({s[0], s[1], s[2] * s[4]});
}

Tensor biasedHeads(const EvalContext& context, const DenseAttention& form, MultiHeadInput input) {
    const Tensor x = unpacked(context, input);
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
    DenseAttention form = multiHeadForm(
        context.node, [&](MultiHeadInput input) -> const Shape& { return context.input(input).shape(); });
    if (form.isBuffer())
        form.past = filledRows(context, form);
    const auto cached = [&](MultiHeadInput cache, MultiHeadInput input) {
        return cachedRows(context, form, context.has(cache) ? context.input(cache) : Tensor(),
                          biasedHeads(context, form, input));
    };
    TS_ASSIGN(const Tensor k, cached(kMhaPastKey, kMhaKey));
    TS_ASSIGN(const Tensor v, cached(kMhaPastValue, kMhaValue));
    Tensor* const scores = context.wanted(kMhaQk) ? &context.outputs[kMhaQk] : nullptr;
    context.outputs[kMhaResult] =
        attendDensely(context, form, biasedHeads(context, form, kMhaQuery), k, v, scores);
    if (context.wanted(kMhaPresentKey))
        context.outputs[kMhaPresentKey] = k;
    if (context.wanted(kMhaPresentValue))
        context.outputs[kMhaPresentValue] = v;
    return {};
}

ValueId biasedHeads(ExpandContext& context, const DenseAttention& form, MultiHeadInput input) {
    const MultiHeadInput holder = holderOf(context.node, input);
    ValueId x = context.node.inputs[holder];
    const Shape shape = context.type(holder).shape();
    if (shape.size() == 4)
        return x;
    const auto [length, size] = lengthAndSize(shape, form.shape.heads);
    const std::int64_t hidden = form.shape.heads * size;
    if (shape.size() == 5)
        x = context.reshape(context.pick(x, static_cast<std::int64_t>(input - holder), 3),
                            {shape[0], length, hidden});
    if (context.has(kMhaBias))
        x = context.add("Add", x,
                        context.slice(context.node.inputs[kMhaBias], 0, biasStart(form, input),
                                      biasStart(form, input) + hidden));
    return headsApart(context, x, shape[0], length, form.shape.heads, size);
}

Status expandMultiHead(ExpandContext& context) {
    const DenseAttention form =
        multiHeadForm(context.node, [&](MultiHeadInput input) { return context.type(input).shape(); });
    TS_TRY(requireElements(context, form.shape));
    const auto cached = [&](MultiHeadInput cache, MultiHeadInput input, std::int64_t size) {
        return cachedRows(context, form, context.has(cache) ? context.node.inputs[cache] : ValueId(),
                          biasedHeads(context, form, input), size);
    };
    const ValueId k = cached(kMhaPastKey, kMhaKey, form.shape.size),
                  v = cached(kMhaPastValue, kMhaValue, form.shape.valueSize);
    ValueId* const scores = context.wanted(kMhaQk) ? &context.outputs[kMhaQk] : nullptr;
    context.outputs[kMhaResult] = expandDenseAttention(context, form, context.type(kMhaQuery).dtype,
                                                       biasedHeads(context, form, kMhaQuery), k, v, scores);
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
