// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/dense_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/cache_buffer.h"
#include "core/ops/movement.h"

namespace tunesmith::ops {
namespace {

constexpr double kLowest = std::numeric_limits<float>::lowest();
constexpr double kNever = -std::numeric_limits<double>::infinity();

bool masksNothing(const Shape& mask, const AttentionShape& s) {
    return mask.size() == 2 && mask[1] == 1 && (s.keys != 1 || mask[0] != s.batch);
}

// Whether a mask hides a key from a query.
bool isMasked(const Tensor& mask, const DenseAttention& form, std::int64_t b, std::int64_t i,
              std::int64_t j) {
    const AttentionShape& s = form.shape;
    if (mask.rank() > 1) {
        const std::int64_t width = mask.shape().back(), row = mask.rank() == 2   ? b
                                                              : mask.rank() == 3 ? b * s.queries + i
                                                                                 : b * width + form.past + i;
        return !masksNothing(mask.shape(), s) && j < width && mask.asInt(row * width + j) <= 0;
    }
    const bool starts = mask.count() == 2 * s.batch;
    return j >= mask.asInt(b) || (starts && j < mask.asInt(s.batch + b));
}

// A bias with zeros behind the keys that it has.
Tensor withAllKeys(const Tensor& bias, std::int64_t keys) {
    const Shape& own = bias.shape();
    if (own[3] == keys)
        return bias;
    Tensor all = Tensor::zeros(bias.type(), {own[0], own[1], own[2], keys});
    copyView(bias, wholeView(bias), all, {own, rowMajorStrides(all.shape()), 0});
    return all;
}

Tensor denseBias(const EvalContext& context, const DenseAttention& form) {
    const AttentionShape& s = form.shape;
    const bool masked = context.has(form.mask), biased = context.has(form.bias);
    if (!masked && !biased && form.ahead && !form.isBuffer())
        return {};
    Tensor all = Tensor::zeros(DType::f64, s.scores());
    if (biased)
        mapBroadcast<double, double>(all, withAllKeys(context.input(form.bias).cast(DType::f64), s.keys), all,
                                     [](double a, double b) { return a + b; });
    double* out = all.mutableData<double>().data();
    for (std::int64_t row = 0; row < s.batch * s.heads * s.queries; ++row)
        for (std::int64_t j = 0; j < s.keys; ++j, ++out) {
            const std::int64_t i = row % s.queries, b = row / s.queries / s.heads;
            if (masked && isMasked(context.input(form.mask), form, b, i, j))
                *out += form.filter;
            const bool hidden = !form.ahead && i + 1 < s.queries && j > form.past + i;
            if (hidden || (form.isBuffer() && j >= form.past + form.fresh))
                *out = kNever;
        }
    return all;
}

// int64 [1, 1, 1, 1]
ValueId filledRows(ExpandContext& context, const DenseAttention& form) {
    return context.reshape(context.cast(context.node.inputs[form.filled], DType::i64), {1, 1, 1, 1});
}

// Nodes that say what denseBias() says.
class DenseBias {
public:
    DenseBias(ExpandContext& context, const DenseAttention& form, DType type)
        : c_(context), form_(form), s_(form.shape), type_(type) {}

    ValueId make() {
        ValueId bias = c_.has(form_.bias)
                           ? withAllKeys(given(form_.bias), type_, c_.type(form_.bias).shape(), 0)
                           : ValueId();
        if (c_.has(form_.mask) && !masksNothing(c_.type(form_.mask).shape(), s_)) {
            const ValueId added = c_.add("Where", {masked(), number(form_.filter), number(0)});
            bias = bias.valid() ? c_.add("Add", bias, added) : added;
        }
        const ValueId seen = this->seen();
        return seen.valid() ? c_.add("Where", {seen, bias.valid() ? bias : number(0), number(kNever)}) : bias;
    }

private:
    // Keys that do not lie ahead and, of a buffer, are filled.
    ValueId seen() {
        const auto since = [&](ValueId ends) {
            const ValueId past = form_.isBuffer() ? c_.add("Add", ends, filledRows(c_, form_)) : ends;
            return c_.add("Less", keys(0), past);
        };
        const ValueId behind = form_.ahead ? ValueId() : since(endsOfQueries());
        if (!form_.isBuffer())
            return behind;
        const ValueId filled = since(countedFrom(c_, form_.fresh, {1, 1}));
        return behind.valid() ? c_.add("And", behind, filled) : filled;
    }
    // How many keys each query sees, int64 [queries, 1], without the rows that a buffer has filled.
    ValueId endsOfQueries() {
        const std::int64_t past = form_.isBuffer() ? 0 : form_.past;
        Tensor ends = Tensor::zeros(DType::i64, {s_.queries, 1});
        const auto numbers = ends.mutableData<std::int64_t>();
        std::iota(numbers.begin(), numbers.end(), past + 1);
        numbers.back() = past + form_.fresh;
        return c_.addConstant(ends);
    }
    // Numbers for the keys that a mask or bias of `own` shape does not have.
    ValueId withAllKeys(ValueId value, DType type, Shape own, double number) {
        const std::int64_t missing = s_.keys - own.back();
        if (missing == 0)
            return value;
        own.back() = missing;
        Tensor more = Tensor::zeros(DType::f64, own);
        std::ranges::fill(more.mutableData<double>(), number);
        return c_.concat({value, c_.addConstant(more.cast(type))}, static_cast<std::int64_t>(own.size()) - 1);
    }
    ValueId given(std::size_t input) {
        return c_.type(input).dtype == type_ ? c_.node.inputs[input] : c_.cast(c_.node.inputs[input], type_);
    }
    ValueId number(double value) { return c_.number(type_, value); }
    ValueId keys(std::int64_t first) { return countedFrom(c_, first, {1, 1, 1, s_.keys}); }

    // bool, as broadcasts to the scores
    ValueId masked() {
        const Shape mask = c_.type(form_.mask).shape();
        const ValueId numbers = c_.cast(c_.node.inputs[form_.mask], DType::i64);
        const ValueId one = c_.addConstant(Tensor::scalar(std::int64_t{1}));
        if (mask.size() == 4) {
            const ValueId rows = c_.slice(numbers, 2, form_.past, form_.past + s_.queries);
            return c_.add("Less", c_.slice(rows, 3, 0, s_.keys), one);
        }
        if (mask.size() > 1) {
            const Shape shape =
                mask.size() == 2 ? Shape{s_.batch, 1, 1, s_.keys} : Shape{s_.batch, 1, s_.queries, s_.keys};
            return c_.add("Less", c_.reshape(withAllKeys(numbers, DType::i64, mask, 1), shape), one);
        }
        const auto part = [&](std::int64_t index) {
            const ValueId own = mask[0] == s_.batch
                                    ? numbers
                                    : c_.slice(numbers, 0, index * s_.batch, (index + 1) * s_.batch);
            return c_.reshape(own, {s_.batch, 1, 1, 1});
        };
        const ValueId behind = c_.add("Greater", keys(1), part(0)); // j + 1 > end
        return mask[0] == 2 * s_.batch ? c_.add("Or", behind, c_.add("Less", keys(0), part(1))) : behind;
    }

    ExpandContext& c_;
    const DenseAttention& form_;
    const AttentionShape& s_;
    const DType type_;
};

} // namespace

void DenseAttention::read(const Node& node) {
    const float scale = node.floatAttr("scale", 0);
    rule = {scale == 0 ? 1 / std::sqrt(static_cast<double>(shape.size)) : static_cast<double>(scale), 0,
            false};
    ahead = node.intAttr("unidirectional", 0) == 0 || shape.queries == 1;
    filter = node.floatAttr("mask_filter_value", -10000);
}

Dim sumOf(const Dim& a, const Dim& b) {
    return a.known() && b.known() ? Dim(a.extent + b.extent) : Dim();
}

Status checkDenseMask(const OpInputs& in, std::size_t mask, const Dim& batch, const Dim& queries,
                      const Dim& keys, const Dim& rows, bool buffer) {
    if (!in.has(mask))
        return {};
    TS_TRY(requireInt32(in, mask));
    if (!in.type(mask).dims)
        return {};
    const Dims& dims = *in.type(mask).dims;
    bool fits = dims.size() >= 1 && dims.size() <= 4;
    if (dims.size() == 1 && dims[0].known() && batch.known())
        fits = dims[0].extent == batch.extent || dims[0].extent == 2 * batch.extent ||
               dims[0].extent == 3 * batch.extent + 2;
    const auto hasKeys = [&](const Dim& own) {
        return mergeEqual(own, keys).has_value() || (buffer && own.extent < keys.extent);
    };
    const bool nothing =
        dims.size() == 2 && dims[1] == Dim(1) && (dims[0] == Dim(1) || mergeEqual(dims[0], batch));
    if (dims.size() == 2)
        fits = nothing || (mergeEqual(dims[0], batch) && hasKeys(dims[1]));
    if (dims.size() == 3)
        fits = mergeEqual(dims[0], batch) && mergeEqual(dims[1], queries) && hasKeys(dims[2]);
    if (dims.size() == 4) {
        const auto lacks = [&](const Dim& wanted) {
            return dims[2].known() && wanted.known() && dims[2].extent < wanted.extent;
        };
        fits = mergeEqual(dims[0], batch) && dims[1] == Dim(1) && mergeEqual(dims[2], dims[3]) &&
               !lacks(keys) && !lacks(rows);
        if (fits && (buffer || in.node.intAttr("unidirectional", 0) != 0))
            return in.unsupported(
                "a mask of 4 dimensions is not supported with unidirectional or a buffer as cache");
    }
    const std::string all = dimText(batch) + " x " + dimText(queries) + " x " + dimText(keys);
    return fits ? Status()
                : Status(in.error("its mask " + in.type(mask).text() +
                                  " does not fit batch x queries x keys of " + all));
}

Status checkDenseBias(const OpInputs& in, std::size_t bias, const Dim& batch, const Dim& heads,
                      const Dim& queries, const Dim& keys, bool buffer) {
    if (!in.has(bias) || !in.type(bias).dims)
        return {};
    TS_TRY(requireRank(in, bias, 4, "batch, heads, queries and keys"));
    const Dims& dims = *in.type(bias).dims;
    const auto either = [&](std::size_t axis, const Dim& own) { return dims[axis] == Dim(1) ? Dim(1) : own; };
    const bool shorter = buffer && dims[3].known() && dims[3].extent <= keys.extent;
    return requireDims(in, bias, {either(0, batch), either(1, heads), queries, shorter ? dims[3] : keys},
                       "batch or 1, heads or 1, queries and keys");
}

Tensor attendDensely(const EvalContext& context, const DenseAttention& form, const Tensor& q, const Tensor& k,
                     const Tensor& v, Tensor* scores) {
    const AttentionShape& s = form.shape;
    Tensor y = Tensor::zeros(q.type(), {s.batch, s.heads, s.queries, s.valueSize});
    Tensor shown = scores ? Tensor::zeros(DType::f64, s.scores()) : Tensor();
    ShowScores show;
    if (scores)
        show = [&](AttentionStep step, std::int64_t row, std::span<const double> values) {
            if (step == AttentionStep::biased)
                std::ranges::transform(values, shown.mutableData<double>().begin() + row * s.keys,
                                       [](double value) { return value < kLowest ? kLowest : value; });
        };
    attend(s, form.rule, q, k, v, denseBias(context, form), y, show);
    if (scores)
        *scores = shown.cast(scores->type());
    return headsTogether(y);
}

ValueId expandDenseAttention(ExpandContext& context, const DenseAttention& form, DType type, ValueId q,
                             ValueId k, ValueId v, ValueId* scores) {
    const AttentionShape& s = form.shape;
    const DType wide = computeType(type);
    const AttentionNodes made =
        expandAttention(context, s, form.rule, wide, context.widened(q, type), context.widened(k, type),
                        context.widened(v, type), DenseBias(context, form, wide).make());
    if (scores)
        *scores = context.narrowed(context.add("Max", made.biased, context.number(wide, kLowest)), type);
    return context.narrowed(
        context.reshape(context.transpose(made.y, {0, 2, 1, 3}), {s.batch, s.queries, s.heads * s.valueSize}),
        type);
}

std::int64_t filledRows(const EvalContext& context, const DenseAttention& form) {
    return context.input(form.filled).asInt(0);
}

Result<Tensor> cachedRows(const EvalContext& context, const DenseAttention& form, const Tensor& past,
                          const Tensor& more) {
    if (!form.isBuffer())
        return extendedCache(past, more);
    const std::int64_t rows = past.shape()[2];
    if (form.past < 0 || form.past + form.fresh > rows)
        return context.error("past_sequence_length is " + std::to_string(form.past) + ", but a cache of " +
                             std::to_string(rows) + " rows gets " + std::to_string(form.fresh));
    return writtenCache(
        past, more, std::vector<std::int64_t>(static_cast<std::size_t>(form.shape.batch), form.past), rows);
}

ValueId cachedRows(ExpandContext& context, const DenseAttention& form, ValueId past, ValueId more,
                   std::int64_t size) {
    const AttentionShape& s = form.shape;
    if (!form.isBuffer())
        return past.valid() ? context.concat({past, more}, 2) : more;
    const CacheBuffer buffer{s.batch, s.kvHeads, size, s.keys, form.fresh, s.keys};
    return writeCache(context, buffer, context.type(0).dtype, past, more, filledRows(context, form));
}

Status requireElements(const ExpandContext& context, const AttentionShape& shape) {
    if (elementCount(shape.scores()) == 0 || shape.size == 0 || shape.valueSize == 0)
        return context.unsupported("its queries, keys or values are empty");
    return context.requireAtMost(ExpandContext::kMostPlaces, shape.keys, "keys");
}

ValueId headsApart(ExpandContext& context, ValueId value, std::int64_t batch, std::int64_t length,
                   std::int64_t heads, std::int64_t size) {
    return context.transpose(context.reshape(value, {batch, length, heads, size}), {0, 2, 1, 3});
}

} // namespace tunesmith::ops
