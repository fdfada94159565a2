// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/dense_attention.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "core/ops/broadcast.h"

namespace tunesmith::ops {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

bool isMaskNumber(DType type) {
    return type == DType::i32;
}

// Whether a mask hides a key from a query.
bool isMasked(const Tensor& mask, const AttentionShape& s, std::int64_t b, std::int64_t i, std::int64_t j) {
    if (mask.rank() == 3)
        return mask.asInt((b * s.queries + i) * s.keys + j) == 0;
    if (mask.rank() == 2)
        return mask.asInt(b * s.keys + j) == 0;
    const bool starts = mask.count() == 2 * s.batch;
    return j >= mask.asInt(b) || (starts && j < mask.asInt(s.batch + b));
}

Tensor denseBias(const EvalContext& context, const DenseAttention& form) {
    const AttentionShape& s = form.shape;
    const bool masked = context.has(form.mask), biased = context.has(form.bias);
    if (!masked && !biased && form.ahead)
        return {};
    Tensor all = Tensor::zeros(DType::f64, s.scores());
    if (biased)
        mapBroadcast<double, double>(all, context.input(form.bias).cast(DType::f64), all,
                                     [](double a, double b) { return a + b; });
    double* out = all.mutableData<double>().data();
    for (std::int64_t row = 0; row < s.batch * s.heads * s.queries; ++row)
        for (std::int64_t j = 0; j < s.keys; ++j, ++out) {
            const std::int64_t i = row % s.queries, b = row / s.queries / s.heads;
            if (masked && isMasked(context.input(form.mask), s, b, i, j))
                *out += form.filter;
            if (!form.ahead && j > form.past + i)
                *out = kNever;
        }
    return all;
}

// Nodes that say what denseBias() says.
class DenseBias {
public:
    DenseBias(ExpandContext& context, const DenseAttention& form, DType type)
        : c_(context), form_(form), s_(form.shape), type_(type) {}

    ValueId make() {
        ValueId bias = c_.has(form_.bias) ? given(form_.bias) : ValueId();
        if (c_.has(form_.mask)) {
            const ValueId added = c_.add("Where", {masked(), number(form_.filter), number(0)});
            bias = bias.valid() ? c_.add("Add", bias, added) : added;
        }
        if (form_.ahead)
            return bias;
        const ValueId seen = c_.add("Less", keys(0), counted(s_.queries, form_.past + 1, {s_.queries, 1}));
        return c_.add("Where", {seen, bias.valid() ? bias : number(0), number(kNever)});
    }

private:
    ValueId given(std::size_t input) {
        return c_.type(input).dtype == type_ ? c_.node.inputs[input] : c_.cast(c_.node.inputs[input], type_);
    }
    ValueId number(double value) { return c_.number(type_, value); }
    ValueId counted(std::int64_t count, std::int64_t first, const Shape& shape) {
        std::vector<std::int64_t> values(static_cast<std::size_t>(count));
        std::iota(values.begin(), values.end(), first);
        return c_.addConstant(Tensor::ofInts(values).reshaped(shape));
    }
    ValueId keys(std::int64_t first) { return counted(s_.keys, first, {1, 1, 1, s_.keys}); }

    // bool, as broadcasts to the scores
    ValueId masked() {
        const Shape mask = c_.type(form_.mask).shape();
        const ValueId numbers = c_.cast(c_.node.inputs[form_.mask], DType::i64);
        if (mask.size() > 1) {
            const Shape shape =
                mask.size() == 2 ? Shape{s_.batch, 1, 1, s_.keys} : Shape{s_.batch, 1, s_.queries, s_.keys};
            return c_.add("Equal", c_.reshape(numbers, shape),
                          c_.addConstant(Tensor::scalar(std::int64_t{0})));
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
    ahead = node.intAttr("unidirectional", 0) == 0;
    filter = node.floatAttr("mask_filter_value", -10000);
}

Dim sumOf(const Dim& a, const Dim& b) {
    return a.known() && b.known() ? Dim(a.extent + b.extent) : Dim();
}

Status checkDenseMask(const OpInputs& in, std::size_t mask, const Dim& batch, const Dim& queries,
                      const Dim& keys) {
    if (!in.has(mask))
        return {};
    TS_TRY(requireType(in, mask, isMaskNumber, "int32"));
    if (!in.type(mask).dims)
        return {};
    const Dims& dims = *in.type(mask).dims;
    bool fits = dims.size() == 1 || dims.size() == 2 || dims.size() == 3;
    if (dims.size() == 1 && dims[0].known() && batch.known())
        fits = dims[0].extent == batch.extent || dims[0].extent == 2 * batch.extent ||
               dims[0].extent == 3 * batch.extent + 2;
    if (dims.size() == 2)
        fits = mergeEqual(dims[0], batch) && mergeEqual(dims[1], keys);
    if (dims.size() == 3)
        fits = mergeEqual(dims[0], batch) && mergeEqual(dims[1], queries) && mergeEqual(dims[2], keys);
    if (dims.size() == 4)
        return in.unsupported("its mask " + in.type(mask).text() + " has 4 dimensions, which is for GPUs");
    const std::string all = dimText(batch) + " x " + dimText(queries) + " x " + dimText(keys);
    return fits ? Status()
                : Status(in.error("its mask " + in.type(mask).text() +
                                  " does not fit batch x queries x keys of " + all));
}

Status checkDenseBias(const OpInputs& in, std::size_t bias, const Dim& batch, const Dim& heads,
                      const Dim& queries, const Dim& keys) {
    if (!in.has(bias) || !in.type(bias).dims)
        return {};
    TS_TRY(requireRank(in, bias, 4, "batch, heads, queries and keys"));
    const Dims& dims = *in.type(bias).dims;
    const auto either = [&](std::size_t axis, const Dim& own) { return dims[axis] == Dim(1) ? Dim(1) : own; };
    return requireDims(in, bias, {either(0, batch), either(1, heads), queries, keys},
                       "batch or 1, heads or 1, queries and keys");
}

Tensor attendDensely(const EvalContext& context, const DenseAttention& form, const Tensor& q, const Tensor& k,
                     const Tensor& v) {
    const AttentionShape& s = form.shape;
    Tensor y = Tensor::zeros(q.type(), {s.batch, s.heads, s.queries, s.valueSize});
    attend(s, form.rule, q, k, v, denseBias(context, form), y);
    return headsTogether(y);
}

ValueId expandDenseAttention(ExpandContext& context, const DenseAttention& form, DType type, ValueId q,
                             ValueId k, ValueId v) {
    const AttentionShape& s = form.shape;
    const DType wide = computeType(type);
    const AttentionNodes made =
        expandAttention(context, s, form.rule, wide, context.widened(q, type), context.widened(k, type),
                        context.widened(v, type), DenseBias(context, form, wide).make());
    return context.narrowed(
        context.reshape(context.transpose(made.y, {0, 2, 1, 3}), {s.batch, s.queries, s.heads * s.valueSize}),
        type);
}

ValueId headsApart(ExpandContext& context, ValueId value, std::int64_t batch, std::int64_t length,
                   std::int64_t heads, std::int64_t size) {
    return context.transpose(context.reshape(value, {batch, length, heads, size}), {0, 2, 1, 3});
}

} // namespace tunesmith::ops
