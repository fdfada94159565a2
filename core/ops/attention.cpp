// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops/attention_core.h"
#include "core/ops/broadcast.h"
#include "core/ops/kernel.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

// Attention of ONNX. The meaning is that of release 1.23 for all opsets, as in ONNX Runtime: softcap comes before the mask, a
// causal query sees `offset` more keys (those of the cache), and rows that are hidden as a whole give zeros.
namespace tunesmith::ops {
namespace {

enum AttentionInput : std::size_t { kQuery, kKey, kValue, kAttentionMask, kPastKey, kPastValue, kFilled };
enum AttentionOutput : std::size_t { kResult, kPresentKey, kPresentValue, kScores };

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// Query, key or value as heads, whether they lie packed in the last dimension (3-D) or apart (4-D).
struct HeadDims {
    Dim batch, heads, length, size;
};

Result<std::optional<HeadDims>> headsOf(const OpInputs& in, std::size_t input) {
    if (!in.type(input).dims)
        return std::optional<HeadDims>();
    const Dims& dims = *in.type(input).dims;
    if (dims.size() == 4)
        return std::optional(HeadDims{dims[0], dims[1], dims[2], dims[3]});
    if (dims.size() != 3)
        return in.error("input " + in.type(input).text() + " must have 3 or 4 dimensions");
    const char* attribute = input == kQuery ? "q_num_heads" : "kv_num_heads";
    const std::int64_t heads = in.node.intAttr(attribute, 0);
    if (heads < 1 || heads > kMostHeads)
        return in.error(std::string("needs the attribute ") + attribute + ", 1 to " + std::to_string(kMostHeads) + ", for its inputs have 3 dimensions");
    if (dims[2].known() && dims[2].extent % heads != 0)
        return in.error("the last dimension of " + in.type(input).text() + " cannot be split into " + std::to_string(heads) + " heads");
    return std::optional(HeadDims{dims[0], Dim(heads), dims[1], dims[2].known() ? Dim(dims[2].extent / heads) : Dim()});
}

// Kernel and nodes read all three as the queries lie.
Status requireOneRank(const OpInputs& in) {
    const auto& q = in.type(kQuery).dims;
    for (const std::size_t input : {kKey, kValue})
        if (const auto& dims = in.type(input).dims; q && dims && dims->size() != q->size())
            return pairError(in, kQuery, input, "do not fit: queries, keys and values must all have 3 or all 4 dimensions");
    return {};
}

Dim extended(const Dim& a, const Dim& b) {
    if (a.known() && b.known())
        return a.extent + b.extent;
    return a == Dim(0) ? b : b == Dim(0) ? a : Dim();
}

// Keys or values after those of the cache.
Result<std::optional<HeadDims>> presentOf(const OpInputs& in, std::size_t input, std::size_t past) {
    TS_ASSIGN(std::optional<HeadDims> heads, headsOf(in, input));
    if (!heads || !in.has(past))
        return heads;
    TS_TRY(requireSameType(in, input, past));
    if (!in.type(past).dims) {
        heads->length = Dim();
        return heads;
    }
    const Dims& cache = *in.type(past).dims;
    if (cache.size() != 4 || !mergeEqual(cache[0], heads->batch) || !mergeEqual(cache[1], heads->heads) || !mergeEqual(cache[3], heads->size))
        return pairError(in, input, past, "do not fit: a cache is [batch, heads, length, size]");
    heads->length = extended(cache[2], heads->length);
    return heads;
}

Status checkMask(const OpInputs& in, const HeadDims& q, const HeadDims& k) {
    if (!in.has(kAttentionMask))
        return {};
    if (in.type(kAttentionMask).dtype != DType::boolean)
        TS_TRY(requireFloat(in, kAttentionMask));
    if (!in.type(kAttentionMask).dims)
        return {};
    Dims mask = *in.type(kAttentionMask).dims;
    const Dim last = mask.empty() ? Dim() : mask.back();
    const bool longer = last.known() && k.length.known() && last.extent > k.length.extent;
    if (!mask.empty())
        mask.back() = Dim(1); // what is missing at its end is hidden
    if (mask.empty() || mask.size() > 4 || longer || !broadcastsTo(mask, {q.batch, q.heads, q.length, k.length}))
        return in.error("the mask " + in.type(kAttentionMask).text() + " does not fit scores of [batch, heads, queries, keys]");
    return {};
}

// How many keys of each batch are there, int64.
Status checkFilled(const OpInputs& in, const HeadDims& q) {
    if (!in.has(kFilled))
        return {};
    const TensorType& type = in.type(kFilled);
    if (type.dtype != DType::undefined && type.dtype != DType::i64)
        return in.error("nonpad_kv_seqlen must be int64, not " + type.text());
    if (type.dims && (type.dims->size() != 1 || !mergeEqual(type.dims->front(), q.batch)))
        return in.error("nonpad_kv_seqlen " + type.text() + " has not one length for each batch");
    return {};
}

Status checkAttentionAttributes(const OpInputs& in) {
    if (in.has(kPastKey) != in.has(kPastValue))
        return in.error("past_key and past_value must come together");
    if (in.has(kFilled) && in.has(kPastKey))
        return in.error("nonpad_kv_seqlen and a cache to be extended exclude each other");
    const std::int64_t mode = in.node.intAttr("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
        return in.error("qk_matmul_output_mode must be 0 to 3, not " + std::to_string(mode));
    if (in.node.intAttr("left_window_size", -1) < -1 || in.node.intAttr("right_window_size", -1) < -1)
        return in.error("a window must be -1 (none) or at least 0");
    const bool apart = in.type(kQuery).dims && in.type(kQuery).dims->size() == 4;
    if (in.opset >= 25 && apart && (in.node.has("q_num_heads") || in.node.has("kv_num_heads")))
        return in.error("q_num_heads and kv_num_heads are for inputs of 3 dimensions only");
    return {};
}

Status checkAttentionFit(const OpInputs& in, const HeadDims& q, const HeadDims& k, const HeadDims& v) {
    if (!mergeEqual(q.batch, k.batch) || !mergeEqual(q.size, k.size))
        return pairError(in, kQuery, kKey, "do not fit: batch and size of a head must be the same");
    if (!mergeEqual(k.batch, v.batch) || !mergeEqual(k.heads, v.heads) || !mergeEqual(k.length, v.length))
        return pairError(in, kKey, kValue, "do not fit: batch, heads and length must be the same");
    if (q.heads.known() && k.heads.known() && (k.heads.extent < 1 || q.heads.extent % k.heads.extent != 0))
        return in.error(std::to_string(q.heads.extent) + " heads of queries cannot share " + std::to_string(k.heads.extent) + " of keys");
    return {};
}

void setOutput(InferContext& in, AttentionOutput output, DType type, const std::optional<Dims>& dims) {
    if (output < in.outputs.size()) {
        in.outputs[output] = TensorType(type);
        in.outputs[output].dims = dims;
    }
}

Dims resultDims(const OpInputs& in, const HeadDims& q, const HeadDims& v) {
    if (in.type(kQuery).dims->size() == 4)
        return {q.batch, q.heads, q.length, v.size};
    return {q.batch, q.length, v.size.known() ? Dim(q.heads.extent * v.size.extent) : Dim()};
}

Status inferAttention(InferContext& in) {
    for (const std::size_t input : {kQuery, kKey, kValue})
        TS_TRY(requireFloat(in, input));
    TS_TRY(requireSameType(in, kQuery, kKey));
    TS_TRY(checkAttentionAttributes(in));
    TS_TRY(requireOneRank(in));
    const DType type = in.type(kQuery).dtype, valueType = in.type(kValue).dtype;
    for (const auto& [output, own] : {std::pair(kResult, type), {kPresentKey, type}, {kPresentValue, valueType}, {kScores, type}})
        setOutput(in, output, own, std::nullopt);
    TS_ASSIGN(const std::optional<HeadDims> q, headsOf(in, kQuery));
    TS_ASSIGN(const std::optional<HeadDims> k, presentOf(in, kKey, kPastKey));
    TS_ASSIGN(const std::optional<HeadDims> v, presentOf(in, kValue, kPastValue));
    if (!q || !k || !v)
        return {};
    TS_TRY(checkAttentionFit(in, *q, *k, *v));
    TS_TRY(checkMask(in, *q, *k));
    TS_TRY(checkFilled(in, *q));
    setOutput(in, kResult, type, resultDims(in, *q, *v));
    setOutput(in, kPresentKey, type, Dims{k->batch, k->heads, k->length, k->size});
    setOutput(in, kPresentValue, valueType, Dims{v->batch, v->heads, v->length, v->size});
    setOutput(in, kScores, type, Dims{q->batch, q->heads, q->length, k->length});
    return {};
}

// Which keys a query sees for where it stands: key j if position - left <= j <= position + right.
struct KeyWindow {
    std::int64_t left, right; // -1: no limit

    explicit KeyWindow(const Node& node) : left(node.intAttr("left_window_size", -1)), right(node.intAttr("right_window_size", -1)) {
        if (node.intAttr("is_causal", 0) != 0)
            right = 0;
    }
    bool limits() const { return left >= 0 || right >= 0; }
    bool shows(std::int64_t position, std::int64_t key) const {
        return (left < 0 || position - left <= key) && (right < 0 || key <= position + right);
    }
    // Whether some position of a range sees none of the keys.
    bool hidesAll(std::int64_t from, std::int64_t to, std::int64_t keys) const {
        return keys > 0 && from < to && ((right >= 0 && from + right < 0) || (left >= 0 && to - 1 - left >= keys));
    }
};

// All that is known of a node whose inputs have static shapes.
struct AttentionForm {
    AttentionShape shape;
    AttentionRule rule;
    bool packed = false;
    std::int64_t past = 0;
    KeyWindow window;

    AttentionForm(const Node& node, const Shape& q, const Shape& k, const Shape& v, std::int64_t pastLength) : packed(q.size() == 3), past(pastLength), window(node) {
        shape.batch = q[0];
        shape.heads = packed ? node.intAttr("q_num_heads", 1) : q[1];
        shape.kvHeads = packed ? node.intAttr("kv_num_heads", 1) : k[1];
        shape.queries = q[packed ? 1 : 2];
        shape.keys = past + k[packed ? 1 : 2];
        shape.size = packed ? q[2] / shape.heads : q[3];
        shape.valueSize = packed ? v[2] / shape.kvHeads : v[3];
        rule.scale = node.has("scale") ? static_cast<double>(node.floatAttr("scale", 1)) : 1 / std::sqrt(static_cast<double>(shape.size));
        rule.softcap = node.floatAttr("softcap", 0);
    }
};

// What is added to the scores, float64: 0 or the mask where a key is seen, -inf where it is not.
Tensor biasOf(const EvalContext& context, const AttentionForm& form) {
    const Tensor mask = context.has(kAttentionMask) ? context.input(kAttentionMask) : Tensor();
    if (mask.absent() && !context.has(kFilled) && !form.window.limits())
        return {};
    const AttentionShape& s = form.shape;
    Shape maskShape(4 - (mask.absent() ? 0 : mask.rank()), 1);
    if (!mask.absent())
        maskShape.insert(maskShape.end(), mask.shape().begin(), mask.shape().end());
    const Shape shape{context.has(kFilled) ? s.batch : maskShape[0], maskShape[1], s.queries, s.keys};
    Shape within = maskShape; // of the mask, whose last dimension is not repeated
    within.back() = 1;
    const Shape strides = mask.absent() ? Shape(4, 0) : broadcastStrides(within, shape);
    const std::int64_t width = maskShape.back();
    Tensor bias = Tensor::zeros(DType::f64, shape);
    double* out = bias.mutableData<double>().data();
    for (std::int64_t b = 0; b < shape[0]; ++b)
        for (std::int64_t h = 0; h < shape[1]; ++h)
            for (std::int64_t i = 0; i < s.queries; ++i) {
                const std::int64_t filled = context.has(kFilled) ? context.input(kFilled).asInt(b) : s.keys;
                const std::int64_t position = i + (context.has(kFilled) ? filled - s.queries : form.past);
                const std::int64_t row = (b * strides[0] + h * strides[1] + i * strides[2]) * width;
                for (std::int64_t j = 0; j < s.keys; ++j) {
                    const bool seen = j < filled && form.window.shows(position, j) && (mask.absent() || j < width);
                    const bool plain = mask.absent() || !seen;
                    const double own = plain ? 0 : mask.asDouble(row + j);
                    *out++ = !seen || (mask.type() == DType::boolean && own == 0) ? kHidden : mask.type() == DType::boolean ? 0 : own;
                }
            }
    return bias;
}

Status evalAttention(EvalContext& context) {
    const auto pastOf = [&](std::size_t input) { return context.has(input) ? context.input(input) : Tensor(); };
    const Tensor pastKey = pastOf(kPastKey);
    const AttentionForm form(context.node, context.input(kQuery).shape(), context.input(kKey).shape(), context.input(kValue).shape(),
                    pastKey.absent() ? 0 : pastKey.shape()[2]);
    const AttentionShape& s = form.shape;
    const Tensor q = headsApart(context.input(kQuery), s.heads);
    const Tensor k = extendedCache(pastKey, headsApart(context.input(kKey), s.kvHeads));
    const Tensor v = extendedCache(pastOf(kPastValue), headsApart(context.input(kValue), s.kvHeads));
    Tensor y = Tensor::zeros(q.type(), {s.batch, s.heads, s.queries, s.valueSize});
    Tensor scores = context.wanted(kScores) ? Tensor::zeros(DType::f64, s.scores()) : Tensor();
    const auto mode = static_cast<AttentionStep>(context.node.intAttr("qk_matmul_output_mode", 0));
    attend(s, form.rule, q, k, v, biasOf(context, form), y, [&](AttentionStep step, std::int64_t row, std::span<const double> values) {
        if (!scores.absent() && step == mode)
            std::ranges::copy(values, scores.mutableData<double>().begin() + row * s.keys);
    });
    context.outputs[kResult] = form.packed ? headsTogether(y) : y;
    if (context.wanted(kPresentKey))
        context.outputs[kPresentKey] = k;
    if (context.wanted(kPresentValue))
        context.outputs[kPresentValue] = v;
    if (!scores.absent())
        context.outputs[kScores] = scores.cast(q.type());
    return {};
}

// The node as others: heads apart, the caches extended, one bias for all that hides keys.
class AttentionWriter {
public:
    AttentionWriter(ExpandContext& context, const AttentionForm& form)
        : c_(context), form_(form), s_(form.shape), type_(context.type(kQuery).dtype), wide_(computeType(type_)) {}

    void write() {
        const ValueId q = unpacked(kQuery, s_.queries, s_.heads, s_.size);
        const ValueId k = withPast(kPastKey, unpacked(kKey, s_.keys - form_.past, s_.kvHeads, s_.size));
        const ValueId v = withPast(kPastValue, unpacked(kValue, s_.keys - form_.past, s_.kvHeads, s_.valueSize));
        const DType valueType = c_.type(kValue).dtype;
        AttentionRule rule = form_.rule;
        rule.hiddenRows = c_.has(kAttentionMask) || c_.has(kFilled) || form_.window.hidesAll(form_.past, form_.past + s_.queries, s_.keys);
        const AttentionNodes made = expandAttention(c_, s_, rule, wide_, c_.widened(q, type_), c_.widened(k, type_),
                                                    valueType == wide_ ? v : c_.cast(v, wide_), bias());
        give(kResult, c_.narrowed(form_.packed ? packed(made.y) : made.y, type_));
        give(kPresentKey, k);
        give(kPresentValue, v);
        const ValueId shown[] = {made.scaled, made.capped, made.biased, made.probabilities};
        if (c_.wanted(kScores))
            give(kScores, c_.narrowed(shown[c_.node.intAttr("qk_matmul_output_mode", 0)], type_));
    }

private:
    void give(AttentionOutput output, ValueId value) {
        if (c_.wanted(output))
            c_.outputs[output] = value;
    }
    ValueId unpacked(AttentionInput input, std::int64_t length, std::int64_t heads, std::int64_t size) {
        const ValueId value = c_.node.inputs[input];
        return form_.packed ? c_.transpose(c_.reshape(value, {s_.batch, length, heads, size}), {0, 2, 1, 3}) : value;
    }
    ValueId packed(ValueId y) { return c_.reshape(c_.transpose(y, {0, 2, 1, 3}), {s_.batch, s_.queries, s_.heads * s_.valueSize}); }
    ValueId withPast(AttentionInput past, ValueId more) { return form_.past > 0 ? c_.concat({c_.node.inputs[past], more}, 2) : more; }

    ValueId number(std::int64_t value) { return c_.addConstant(Tensor::scalar(value)); }
    ValueId counted(std::int64_t first, const Shape& shape) {
        Tensor values = Tensor::zeros(DType::i64, shape);
        std::iota(values.mutableData<std::int64_t>().begin(), values.mutableData<std::int64_t>().end(), first);
        return c_.addConstant(std::move(values));
    }

    ValueId hidden(const Shape& shape) {
        Tensor values = Tensor::zeros(DType::f64, shape);
        std::ranges::fill(values.mutableData<double>(), kHidden);
        return c_.addConstant(values.cast(wide_));
    }

    // The mask as numbers to add, as wide as there are keys.
    ValueId maskBias() {
        ValueId mask = c_.node.inputs[kAttentionMask];
        Shape missing = c_.type(kAttentionMask).shape();
        const bool truth = c_.type(kAttentionMask).dtype == DType::boolean;
        missing.back() = s_.keys - missing.back();
        if (!truth && c_.type(kAttentionMask).dtype != wide_)
            mask = c_.cast(mask, wide_);
        if (missing.back() > 0 && truth)
            mask = c_.concat({mask, c_.addConstant(Tensor::zeros(DType::boolean, missing))}, -1);
        else if (missing.back() > 0)
            mask = c_.concat({mask, hidden(missing)}, -1);
        return truth ? c_.add("Where", {mask, c_.number(wide_, 0), c_.number(wide_, kHidden)}) : mask;
    }

    // Where a key is hidden for its place: [queries or 1, keys], with a batch in front where it counts its own keys.
    ValueId hiddenKeys() {
        const ValueId keys = counted(0, {s_.keys});
        ValueId filled, position, hidden;
        if (c_.has(kFilled)) {
            filled = c_.reshape(c_.cast(c_.node.inputs[kFilled], DType::i64), {s_.batch, 1, 1, 1});
            hidden = c_.add("GreaterOrEqual", keys, filled);
        }
        if (form_.window.limits())
            position = filled.valid() ? c_.add("Add", filled, counted(-s_.queries, {s_.queries, 1})) : counted(form_.past, {s_.queries, 1});
        const auto hide = [&](ValueId more) { hidden = hidden.valid() ? c_.add("Or", hidden, more) : more; };
        if (form_.window.right >= 0)
            hide(c_.add("Greater", keys, c_.add("Add", position, number(form_.window.right))));
        if (form_.window.left >= 0)
            hide(c_.add("Less", keys, c_.add("Sub", position, number(form_.window.left))));
        return hidden;
    }

    ValueId bias() {
        const ValueId mask = c_.has(kAttentionMask) ? maskBias() : ValueId(), hidden = hiddenKeys();
        if (!hidden.valid())
            return mask;
        return c_.add("Where", {hidden, c_.number(wide_, kHidden), mask.valid() ? mask : c_.number(wide_, 0)});
    }

    ExpandContext& c_;
    const AttentionForm& form_;
    const AttentionShape& s_;
    const DType type_, wide_;
};

// A cache may be empty: nothing is written yet.
Status requireAttentionShapes(const ExpandContext& in) {
    for (std::size_t i = 0; i < in.count(); ++i)
        if (in.has(i) && (!in.type(i).isStatic() || (i != kPastKey && i != kPastValue && elementCount(in.type(i).shape()) == 0)))
            return in.unsupported("the shape of input " + std::to_string(i) + " is not known, or it is empty");
    return {};
}

Status writeAttention(ExpandContext& context) {
    TS_TRY(requireAttentionShapes(context));
    const std::int64_t past = context.has(kPastKey) ? context.type(kPastKey).shape()[2] : 0;
    const AttentionForm form(context.node, context.type(kQuery).shape(), context.type(kKey).shape(), context.type(kValue).shape(), past);
    TS_TRY(context.requireAtMost(ExpandContext::kMostPlaces, std::max(form.shape.keys, form.shape.queries), "keys or queries"));
    AttentionWriter(context, form).write();
    return {};
}

} // namespace

void registerAttention(OperatorList& list) {
    addOperator(list, "Attention", Fusion::opaque, 23, {3, 7, 4}, inferAttention, evalAttention);
    list.back().expand = writeAttention;
}

} // namespace tunesmith::ops
