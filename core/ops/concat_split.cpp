// SPDX-License-Identifier: GPL-3.0-or-later
// Concat and Split: several tensors side by side along one axis.
#include <algorithm>

#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

// The part of a tensor of `shape` that starts at `start` and is `extent` long along `axis`.
View partAlong(const Shape& shape, std::size_t axis, std::int64_t start, std::int64_t extent) {
    View view{shape, rowMajorStrides(shape), 0};
    view.shape[axis] = extent;
    view.offset = start * view.strides[axis];
    return view;
}

std::int64_t concatAxis(const Node& node) { return node.intAttr("axis", 1); }

Status inferConcat(InferContext& in) {
    if (!in.node.has("axis") && in.opset >= 4)
        return in.error("has no axis");
    std::optional<Dims> dims;
    Dim along = 0;
    bool rankless = false;
    for (std::size_t i = 0; i < in.count(); ++i) {
        if (!in.has(i))
            return in.error("input " + std::to_string(i) + " is missing");
        TS_TRY(requireSameType(in, 0, i));
        if (in.outputs[0].dtype == DType::undefined)
            in.outputs[0].dtype = in.type(i).dtype;
        if (!in.type(i).dims) {
            rankless = true;
            continue;
        }
        const Dims& part = *in.type(i).dims;
        TS_ASSIGN(const std::size_t axis, frontAxis(in, concatAxis(in.node), part.size()));
        if (!dims)
            dims = part;
        if (dims->size() != part.size())
            return pairError(in, 0, i, "have different ranks");
        for (std::size_t d = 0; d < part.size(); ++d) {
            const auto merged = mergeEqual((*dims)[d], part[d]);
            if (d != axis && !merged)
                return pairError(in, 0, i, "cannot be joined along axis " + std::to_string(axis));
            if (d != axis)
                (*dims)[d] = *merged;
        }
        if (in.count() == 1)
            along = part[axis];
        else
            along = along.known() && part[axis].known() ? Dim(along.extent + part[axis].extent) : Dim();
        (*dims)[axis] = along;
    }
    if (dims && rankless)
        (*dims)[frontAxis(concatAxis(in.node), dims->size())] = Dim();
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalConcat(EvalContext& context, const std::vector<TensorType>& types) {
    Tensor result = Tensor::zeros(context.input(0).type(), types[0].shape());
    const std::size_t axis = frontAxis(concatAxis(context.node), result.rank());
    std::int64_t start = 0;
    for (const Tensor& part : context.inputs) {
        const std::int64_t extent = part.shape()[axis];
        copyView(part, wholeView(part), result, partAlong(result.shape(), axis, start, extent));
        start += extent;
    }
    context.outputs[0] = std::move(result);
    return {};
}

Status lowerConcat(LowerContext& context) {
    const std::size_t axis = frontAxis(concatAxis(context.node), context.outputShape().size());
    context.finish(0, loops::compute("concat", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        loops::Expr body;
        std::int64_t start = context.outputShape()[axis];
        for (std::size_t n = context.inputs.size(); n-- > 0;) {
            const std::int64_t extent = context.inputShape(n)[axis], end = start;
            start -= extent;
            if (extent == 0)
                continue;
            loops::Indices source = i;
            source[axis] = i[axis] - loops::Expr(start);
            const loops::Expr part = loops::load(context.inputs[n], source);
            body = body.valid() ? loops::select(i[axis] < loops::Expr(end), part, body) : part;
        }
        return body.valid() ? body : zeroOf(context.outputType());
    }));
    return {};
}

// Lengths of the parts; empty when they are not known yet.
Result<std::vector<std::int64_t>> partLengths(const OpInputs& in, const Dim& along, std::size_t outputs) {
    TS_ASSIGN(const IntList given, intList(in, "split", 1));
    if (!given.known || (!given.given && !along.known()))
        return std::vector<std::int64_t>();
    std::vector<std::int64_t> lengths = given.values;
    const auto count = static_cast<std::int64_t>(outputs);
    if (!given.given) {
        const bool uneven = in.opset >= 18 && in.node.has("num_outputs");
        if (!uneven && along.extent % count != 0)
            return in.error("cannot split " + std::to_string(along.extent) + " elements into " + std::to_string(count) +
                            " equal parts");
        const std::int64_t length = (along.extent + count - 1) / count;
        for (std::int64_t i = 0; i < count; ++i)
            lengths.push_back(std::clamp(along.extent - i * length, std::int64_t(0), length));
    }
    if (lengths.size() != outputs)
        return in.error("has " + std::to_string(outputs) + " outputs and " + std::to_string(lengths.size()) + " parts");
    std::int64_t total = 0;
    for (const std::int64_t length : lengths)
        if (length < 0 || __builtin_add_overflow(total, length, &total))
            return in.error("a part has the length " + std::to_string(length));
    if (along.known() && total != along.extent)
        return in.error("the parts have " + std::to_string(total) + " elements together, not " + std::to_string(along.extent));
    return lengths;
}

Status inferSplit(InferContext& in) {
    for (TensorType& output : in.outputs)
        output.dtype = in.type(0).dtype;
    if (!in.type(0).dims)
        return {};
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), in.type(0).dims->size()));
    TS_ASSIGN(const std::vector<std::int64_t> lengths, partLengths(in, (*in.type(0).dims)[axis], in.outputs.size()));
    for (std::size_t i = 0; i < in.outputs.size(); ++i) {
        in.outputs[i].dims = in.type(0).dims;
        (*in.outputs[i].dims)[axis] = lengths.empty() ? Dim() : Dim(lengths[i]);
    }
    return {};
}

Status evalSplit(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& data = context.input(0);
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), data.rank());
    std::int64_t start = 0;
    for (std::size_t i = 0; i < types.size(); ++i) {
        const std::int64_t extent = (*types[i].dims)[axis].extent;
        context.outputs[i] = gatherView(data, partAlong(data.shape(), axis, start, extent), types[i].shape());
        start += extent;
    }
    return {};
}

Status lowerSplit(LowerContext& context) {
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), context.inputShape(0).size());
    TS_ASSIGN(const std::vector<std::int64_t> lengths,
              partLengths(context, context.inputShape(0)[axis], context.node.outputs.size()));
    std::int64_t start = 0;
    for (std::size_t n = 0; n < lengths.size(); start += lengths[n++]) {
        if (!context.node.outputs[n].valid())
            continue;
        context.finish(n, loops::compute("split", context.outputType(n), context.outputShape(n),
                                         [&](const loops::Indices& i) {
            loops::Indices source = i;
            source[axis] = i[axis] + loops::Expr(start);
            return loops::load(context.inputs[0], source);
        }));
    }
    return {};
}

} // namespace

void registerConcatSplit(OperatorList& list) {
    addMovement(list, "Concat", Fusion::injective, 1, {1, kVariadic}, inferConcat, evalConcat, lowerConcat);
    addMovement(list, "Split", Fusion::injective, 1, {1, 2, kVariadic}, inferSplit, evalSplit, lowerSplit,
                [](const OpInputs& in) { return requireConstant(in, 1, "the lengths of the parts"); });
}

} // namespace tunesmith::ops
