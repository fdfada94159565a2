// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/dense_attention.h"
#include "core/ops/contrib/qlinear.h"
#include "core/ops/dense.h"
#include "core/ops/movement.h"

// Attention and QAttention: one product makes queries, keys and values, whose columns lie one after the other
// in the weights [input, hidden of q + k + v]. QAttention multiplies bytes, and has one scale for its weights
// or one for each column. A cache is [2, batch, heads, length, size], keys first.
namespace tunesmith::ops {
namespace {

// Places of the inputs; one that an operator does not have lies behind all of them.
struct PackedLayout {
    std::size_t bias, mask, past, scores, pastLength;
    bool quantised;
};
constexpr std::size_t kPackedX = 0, kPackedW = 1, kBehindAll = 99;
constexpr PackedLayout kFloatLayout{2, 3, 4, 5, 6, false}, kByteLayout{2, 5, 8, kBehindAll, kBehindAll, true};
constexpr std::size_t kXScale = 3, kWScale = 4, kXZero = 6, kWZero = 7;

// Whether the cache is a buffer of which past_sequence_length says how many rows are filled.
bool isPackedBuffer(const Node& node, const PackedLayout& layout) {
    return !layout.quantised && node.intAttr("past_present_share_buffer", 0) != 0 &&
           node.hasInput(layout.past);
}

// Widths of queries, keys and values.
struct PackedWidths {
    std::int64_t heads, q, k, v;
    std::int64_t all() const { return q + k + v; }
};

Result<PackedWidths> packedWidths(const OpInputs& in) {
    const std::int64_t heads = in.node.intAttr("num_heads", 0);
    if (heads < 1)
        return in.error("needs the attribute num_heads, above 0");
    const std::int64_t columns = dimOf(in, kPackedW, 1).value_or(Dim()).extent;
    PackedWidths widths{heads, columns / 3, columns / 3, columns / 3};
    if (in.node.has("qkv_hidden_sizes")) {
        const std::vector<std::int64_t> sizes = in.node.intsAttr("qkv_hidden_sizes");
        if (sizes.size() != 3)
            return in.error("qkv_hidden_sizes " + attributeText(sizes) + " needs 3 numbers");
        widths = {heads, sizes[0], sizes[1], sizes[2]};
    }
    for (const std::int64_t width : {widths.q, widths.k, widths.v})
        if (width < 1 || width > columns || width % heads != 0)
            return in.error("a hidden size of " + std::to_string(width) + " cannot be split into " +
                            std::to_string(heads) + " heads");
    if (widths.q != widths.k || widths.all() != columns)
        return in.error("the weights " + in.type(kPackedW).text() +
                        " do not hold queries and keys of one size, and values");
    return widths;
}

Status checkPackedTypes(const OpInputs& in, const PackedLayout& layout) {
    TS_TRY(requireInputs(in, {kPackedX, kPackedW}));
    if (!layout.quantised) {
        TS_TRY(requireFloat(in, kPackedX));
        for (const std::size_t input : {kPackedW, layout.bias, layout.past, layout.scores})
            if (in.has(input))
                TS_TRY(requireSameType(in, kPackedX, input));
    } else {
        TS_TRY(requireInputs(in, {layout.bias, kXScale, kWScale}));
        TS_TRY(checkQuantised(in, {kPackedX, kXScale, kXZero}));
        TS_TRY(requireType(in, kPackedW, isByte, "int8 or uint8"));
        for (const std::size_t input : {kWScale, layout.past})
            if (in.has(input))
                TS_TRY(requireSameType(in, layout.bias, input));
        if (in.has(kWZero))
            TS_TRY(requireSameType(in, kPackedW, kWZero));
    }
    if (in.node.intAttr("do_rotary", 0) != 0)
        return in.unsupported("do_rotary is for GPUs; RotaryEmbedding and MultiHeadAttention say the same");
    if (!isPackedBuffer(in.node, layout))
        return {}; // past_sequence_length says nothing more
    TS_TRY(requireInputs(in, {layout.past, layout.pastLength}));
    TS_TRY(requireInt32(in, layout.pastLength));
    return requireOneElement(in, layout.pastLength);
}

// Keys that there are afterwards, filled or not.
Dim packedKeys(const OpInputs& in, const PackedLayout& layout) {
    const Dim more = dimOf(in, kPackedX, 1).value_or(Dim()), past = dimOf(in, layout.past, 3).value_or(Dim());
    return isPackedBuffer(in.node, layout) ? past : in.has(layout.past) ? sumOf(past, more) : more;
}

Status checkPackedShapes(const OpInputs& in, const PackedLayout& layout, const PackedWidths& widths) {
    const Dims& x = *in.type(kPackedX).dims;
    const Dim hidden = dimOf(in, kPackedW, 0).value_or(Dim());
    TS_TRY(requireEqual(in, x[2], hidden,
                        "inputs " + in.type(kPackedX).text() + " and " + in.type(kPackedW).text() +
                            " do not fit: the inner dimensions differ"));
    TS_TRY(requireDims(in, layout.bias, {Dim(widths.all())}, "one for each column of the weights"));
    if (layout.quantised)
        for (const std::size_t input : {kWScale, kWZero})
            if (in.has(input) && in.type(input).isStatic() && elementCount(in.type(input).shape()) != 1)
                TS_TRY(requireDims(in, input, {Dim(widths.all())}, "one for each column of the weights"));
    const Dim heads(widths.heads), past = dimOf(in, layout.past, 3).value_or(Dim());
    TS_TRY(requireDims(in, layout.past, {Dim(2), x[0], heads, past, Dim(widths.k / widths.heads)},
                       "keys and values of the cache"));
    if (in.has(layout.past) && widths.k != widths.v)
        return in.error("a cache needs keys and values of one size");
    const Dim keys = packedKeys(in, layout);
    const bool buffer = isPackedBuffer(in.node, layout);
    TS_TRY(checkDenseMask(in, layout.mask, x[0], x[1], keys, keys, buffer));
    return checkDenseBias(in, layout.scores, x[0], heads, x[1], keys, buffer);
}

Status inferPackedAttention(InferContext& in, const PackedLayout& layout) {
    TS_TRY(checkPackedTypes(in, layout));
    for (TensorType& output : in.outputs)
        output = TensorType(in.type(layout.quantised ? layout.bias : kPackedX).dtype);
    TS_TRY(requireRank(in, kPackedX, 3, "batch, sequence and hidden"));
    TS_TRY(requireRank(in, kPackedW, 2, "rows and columns"));
    if (!in.type(kPackedX).dims || !in.type(kPackedW).isStatic())
        return {};
    TS_ASSIGN(const PackedWidths widths, packedWidths(in));
    TS_TRY(checkPackedShapes(in, layout, widths));
    const Dims& x = *in.type(kPackedX).dims;
    in.outputs[0].dims = Dims{x[0], x[1], Dim(widths.v)};
    if (in.outputs.size() > 1) {
        const Dim keys = packedKeys(in, layout);
        if (widths.k != widths.v)
            return in.error("the output of the cache needs keys and values of one size");
        in.outputs[1].dims = Dims{Dim(2), x[0], Dim(widths.heads), keys, Dim(widths.k / widths.heads)};
    }
    return {};
}

DenseAttention packedForm(const Node& node, const PackedLayout& layout, const PackedWidths& widths,
                          const Shape& x, std::int64_t past) {
    DenseAttention form;
    form.shape = {x[0],
                  widths.heads,
                  widths.heads,
                  x[1],
                  isPackedBuffer(node, layout) ? past : past + x[1],
                  widths.q / widths.heads,
                  widths.v / widths.heads};
    form.past = past;
    form.fresh = x[1];
    form.filled = isPackedBuffer(node, layout) ? layout.pastLength : kNoPlace;
    form.mask = layout.mask;
    form.bias = layout.scores;
    form.read(node);
    return form;
}

// The inputs with their types, for what is asked of nodes and of tensors alike.
OpInputs typedInputs(const EvalContext& context) {
    std::vector<TensorType> types;
    for (const Tensor& input : context.inputs)
        types.push_back(input.absent() ? TensorType() : TensorType(input.type(), input.shape()));
    const std::size_t count = types.size();
    return {context.node, context.opset, std::move(types), std::vector<Tensor>(count)};
}

// x * w + bias as [batch, sequence, columns], float32.
Tensor projected(const EvalContext& context, const PackedLayout& layout, std::int64_t columns) {
    Tensor x = context.input(kPackedX).cast(DType::f64), w = context.input(kPackedW).cast(DType::f64);
    const std::int64_t inner = w.shape()[0], rows = x.shape()[0] * x.shape()[1];
    const auto number = [&](std::size_t input, std::int64_t column, double fallback) {
        return context.has(input)
                   ? context.input(input).asDouble(context.input(input).count() == 1 ? 0 : column)
                   : fallback;
    };
    if (layout.quantised) {
        const double xZero = number(kXZero, 0, 0);
        for (double& value : x.mutableData<double>())
            value -= xZero;
        for (std::int64_t i = 0; i < w.count(); ++i)
            w.mutableData<double>()[i] -= number(kWZero, i % columns, 0);
    }
    Tensor y = Tensor::zeros(DType::f64, {x.shape()[0], x.shape()[1], columns});
    multiplyAccumulate<double>(rows, columns, inner, x.data<double>().data(), inner, 1,
                               w.data<double>().data(), columns, y.mutableData<double>().data(), columns);
    for (std::int64_t i = 0; i < rows * columns; ++i) {
        double& value = y.mutableData<double>()[i];
        if (layout.quantised)
            value *= number(kXScale, 0, 1) * number(kWScale, i % columns, 1);
        value += number(layout.bias, i % columns, 0);
    }
    return y.cast(DType::f32);
}

Tensor headsOfColumns(const Tensor& y, std::int64_t first, std::int64_t width, std::int64_t heads) {
    const Shape& s = y.shape();
    const Shape shape{s[0], s[1], width};
    return headsApart(gatherView(y, {shape, {s[1] * s[2], s[2], 1}, first}, shape), heads);
}

Status evalPackedAttention(EvalContext& context, const PackedLayout& layout) {
    TS_ASSIGN(const PackedWidths widths, packedWidths(typedInputs(context)));
    const Tensor past = context.has(layout.past) ? context.input(layout.past) : Tensor();
    DenseAttention form = packedForm(context.node, layout, widths, context.input(kPackedX).shape(),
                                     past.absent() ? 0 : past.shape()[3]);
    if (form.isBuffer())
        form.past = filledRows(context, form);
    const Tensor y = projected(context, layout, widths.all());
    const auto cached = [&](std::int64_t index) {
        if (past.absent())
            return Tensor();
        const Shape shape(past.shape().begin() + 1, past.shape().end());
        return gatherView(past, {shape, rowMajorStrides(shape), index * elementCount(shape)}, shape)
            .cast(DType::f32);
    };
    TS_ASSIGN(const Tensor k,
              cachedRows(context, form, cached(0), headsOfColumns(y, widths.q, widths.k, widths.heads)));
    TS_ASSIGN(const Tensor v, cachedRows(context, form, cached(1),
                                         headsOfColumns(y, widths.q + widths.k, widths.v, widths.heads)));
    context.outputs[0] = attendDensely(context, form, headsOfColumns(y, 0, widths.q, widths.heads), k, v)
                             .cast(context.outputs[0].type());
    if (context.wanted(1)) {
        Tensor present = Tensor::zeros(DType::f32, context.outputs[1].shape());
        std::ranges::copy(k.data<float>(), present.mutableData<float>().begin());
        std::ranges::copy(v.data<float>(), present.mutableData<float>().begin() + k.count());
        context.outputs[1] = present.cast(context.outputs[1].type());
    }
    return {};
}

// Products of bytes as MatMulIntegerToFloat has them.
ValueId projection(ExpandContext& context, const PackedLayout& layout) {
    const auto& in = context.node.inputs;
    if (!layout.quantised) {
        const ValueId y = context.add("MatMul", in[kPackedX], in[kPackedW]);
        return context.has(layout.bias) ? context.add("Add", y, in[layout.bias]) : y;
    }
    const auto optional = [&](std::size_t input) { return context.has(input) ? in[input] : ValueId(); };
    return addMicrosoft(context, "MatMulIntegerToFloat",
                        {in[kPackedX], in[kPackedW], in[kXScale], in[kWScale], optional(kXZero),
                         optional(kWZero), in[layout.bias]},
                        {});
}

Status expandPackedAttention(ExpandContext& context, const PackedLayout& layout) {
    TS_ASSIGN(const PackedWidths widths, packedWidths(context));
    const Shape x = context.type(kPackedX).shape();
    const std::int64_t past = context.has(layout.past) ? context.type(layout.past).shape()[3] : 0;
    const DenseAttention form = packedForm(context.node, layout, widths, x, past);
    TS_TRY(requireElements(context, form.shape));
    const ValueId y = projection(context, layout);
    const auto heads = [&](std::int64_t first, std::int64_t width) {
        return headsApart(context, context.slice(y, 2, first, first + width), x[0], x[1], widths.heads,
                          width / widths.heads);
    };
    const auto extended = [&](std::int64_t index, ValueId more) {
        const ValueId cache =
            context.has(layout.past) ? context.pick(context.node.inputs[layout.past], index) : ValueId();
        return cachedRows(context, form, cache, more, widths.k / widths.heads);
    };
    const ValueId k = extended(0, heads(widths.q, widths.k)),
                  v = extended(1, heads(widths.q + widths.k, widths.v));
    context.outputs[0] =
        expandDenseAttention(context, form, context.outputType(0).dtype, heads(0, widths.q), k, v);
    if (context.wanted(1))
        context.outputs[1] = context.concat({context.unsqueeze(k, 0), context.unsqueeze(v, 0)}, 0);
    return {};
}

void addPackedAttention(OperatorList& list, const char* name, const Arity& arity,
                        const PackedLayout& layout) {
    addExpanded(
        list, name, arity, [layout](InferContext& in) { return inferPackedAttention(in, layout); },
        [layout](EvalContext& context) { return evalPackedAttention(context, layout); },
        [layout](ExpandContext& context) { return expandPackedAttention(context, layout); });
}

} // namespace

void registerContribPackedAttention(OperatorList& list) {
    addPackedAttention(list, "Attention", {2, 7, 2}, kFloatLayout);
    addPackedAttention(list, "QAttention", {2, 9, 2}, kByteLayout);
}

} // namespace tunesmith::ops
