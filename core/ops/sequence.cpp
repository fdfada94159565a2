// SPDX-License-Identifier: GPL-3.0-or-later
// Operators that follow an axis: CumSum, CumProd, ReverseSequence; and Trilu.
#include <algorithm>

#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

Status inferCumulative(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(requireIndexType(in, 1));
    in.outputs[0] = in.type(0);
    if (!in.isConstant(1) || !in.type(0).dims)
        return {};
    if (in.constant(1).count() != 1)
        return in.error("the axis must be one number");
    TS_TRY(frontAxis(in, in.constant(1).asInt(0), in.type(0).dims->size()));
    return {};
}

template <class T> void accumulate(const Node& node, const Tensor& data, Tensor& results, std::size_t axis) {
    const bool exclusive = node.intAttr("exclusive", 0) != 0, reverse = node.intAttr("reverse", 0) != 0, product = node.op == "CumProd";
    const std::int64_t inner = rowMajorStrides(data.shape())[axis], extent = data.shape()[axis];
    const T* const source = data.data<T>().data();
    T* const target = results.mutableData<T>().data();
    for (std::int64_t line = 0; line < (extent ? data.count() / extent : 0); ++line) {
        const std::int64_t start = line / inner * inner * extent + line % inner;
        T all = product ? T{1} : T{};
        for (std::int64_t k = 0; k < extent; ++k) {
            const std::int64_t at = start + (reverse ? extent - 1 - k : k) * inner;
            const T next = wrapping(all, source[at], [product](auto a, auto b) { return product ? a * b : a + b; });
            target[at] = exclusive ? all : next;
            all = next;
        }
    }
}

Status evalCumulative(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor& original = context.input(0);
    const Tensor data = original.cast(computeType(original.type()));
    const std::size_t axis = frontAxis(context.input(1).asInt(0), data.rank());
    Tensor results = Tensor::zeros(data.type(), data.shape());
    visitNumeric(data.type(), [&](auto tag) { accumulate<decltype(tag)>(context.node, data, results, axis); });
    context.outputs[0] = results.cast(original.type());
    return {};
}

Status inferTrilu(InferContext& in) {
    if (in.has(1))
        TS_TRY(requireIndexType(in, 1));
    in.outputs[0] = in.type(0);
    if (in.type(0).dims && in.type(0).dims->size() < 2)
        return in.error("wants at least a matrix, not " + in.type(0).text());
    if (in.isConstant(1) && in.constant(1).count() != 1)
        return in.error("the diagonal must be one number");
    return {};
}

Status evalTrilu(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor& data = context.input(0);
    const bool upper = context.node.intAttr("upper", 1) != 0;
    const std::int64_t k = context.has(1) ? context.input(1).asInt(0) : 0;
    const std::int64_t rows = data.shape()[data.rank() - 2], columns = data.shape().back();
    Tensor result = Tensor::zeros(data.type(), data.shape());
    visitWidth(data.type(), [&](auto tag) {
        using T = decltype(tag);
        for (std::int64_t n = 0; n < data.count(); ++n) {
            const std::int64_t diagonal = n % columns - n / columns % rows;
            if (upper ? diagonal >= k : diagonal <= k)
                rawData<T>(result)[n] = rawData<T>(data)[n];
        }
    });
    context.outputs[0] = std::move(result);
    return {};
}

Status lowerTrilu(LowerContext& context) {
    const bool upper = context.node.intAttr("upper", 1) != 0;
    const loops::Expr k(context.has(1) ? context.constant(1).asInt(0) : 0);
    context.finish(0, loops::compute("trilu", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        const loops::Expr diagonal = i[i.size() - 1] - i[i.size() - 2];
        return loops::select(upper ? diagonal >= k : diagonal <= k, loops::load(context.inputs[0], i),
                             zeroOf(context.outputType()));
    }));
    return {};
}

struct ReverseAxes {
    std::size_t batch, time;
};
ReverseAxes reverseAxes(const Node& node) {
    return {static_cast<std::size_t>(node.intAttr("batch_axis", 1)), static_cast<std::size_t>(node.intAttr("time_axis", 0))};
}

Status inferReverseSequence(InferContext& in) {
    in.outputs[0] = in.type(0);
    TS_TRY(requireIndexType(in, 1));
    const ReverseAxes axes = reverseAxes(in.node);
    if (axes.batch > 1 || axes.time > 1 || axes.batch == axes.time)
        return in.error("batch_axis and time_axis must be 0 and 1, in either order");
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    if (in.type(0).dims->size() < 2 || in.type(1).dims->size() != 1 ||
        !mergeEqual((*in.type(0).dims)[axes.batch], in.type(1).dims->front()))
        return pairError(in, 0, 1, "do not fit");
    return {};
}

Status evalReverseSequence(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor &data = context.input(0), &lengths = context.input(1);
    const ReverseAxes axes = reverseAxes(context.node);
    const std::int64_t time = data.shape()[axes.time];
    for (const std::int64_t length : lengths.asInts())
        if (length < 0 || length > time)
            return context.error("a sequence has the length " + std::to_string(length) + " of " + std::to_string(time));
    const std::int64_t run = elementCount(std::span(data.shape()).subspan(2));
    const std::size_t bytes = static_cast<std::size_t>(run) * byteSize(data.type());
    Tensor result = Tensor::zeros(data.type(), data.shape());
    for (std::int64_t row = 0; bytes > 0 && row < data.shape()[0]; ++row)
        for (std::int64_t column = 0; column < data.shape()[1]; ++column) {
            const std::int64_t length = lengths.asInt(axes.batch == 0 ? row : column);
            const std::int64_t at = axes.time == 0 ? row : column, from = at < length ? length - 1 - at : at;
            const std::int64_t source = axes.time == 0 ? from * data.shape()[1] + column : row * data.shape()[1] + from;
            std::copy_n(data.bytes().data() + source * bytes, bytes,
                        result.mutableBytes().data() + (row * data.shape()[1] + column) * bytes);
        }
    context.outputs[0] = std::move(result);
    return {};
}

Status lowerReverseSequence(LowerContext& context) {
    const ReverseAxes axes = reverseAxes(context.node);
    const std::int64_t extent = context.inputShape(0)[axes.time];
    context.finish(0, loops::compute("reverse_sequence", context.outputType(), context.outputShape(),
                                     [&](const loops::Indices& i) {
        const loops::Expr length = loops::cast(DType::i64, loops::load(context.inputs[1], {i[axes.batch]}));
        const loops::Expr at = i[axes.time], from = loops::select(at < length, length - loops::Expr(1) - at, at);
        loops::Indices source = i;
        source[axes.time] = loops::min(from, loops::Expr(extent - 1));
        return loops::load(context.inputs[0], source);
    }));
    return {};
}

} // namespace

void registerSequence(OperatorList& list) {
    addMovement(list, "CumSum", Fusion::opaque, 11, {2, 2}, inferCumulative, evalCumulative);
    addMovement(list, "CumProd", Fusion::opaque, 26, {2, 2}, inferCumulative, evalCumulative);
    addMovement(list, "Trilu", Fusion::injective, 14, {1, 2}, inferTrilu, evalTrilu, lowerTrilu,
                [](const OpInputs& in) { return requireConstant(in, 1, "the diagonal"); });
    addMovement(list, "ReverseSequence", Fusion::injective, 10, {2, 2}, inferReverseSequence, evalReverseSequence,
                lowerReverseSequence);
}

} // namespace tunesmith::ops
