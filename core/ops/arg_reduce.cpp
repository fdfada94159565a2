// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// ArgMax and ArgMin: where along an axis the extreme value is; the first one, or the last with select_last_index.
namespace tunesmith::ops {
namespace {

using namespace loops;

bool lastWins(const Node& node) { return node.intAttr("select_last_index", 0) != 0; }

Status inferArg(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    in.outputs[0] = TensorType(DType::i64);
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), dims.size()));
    if (dims[axis].known() && dims[axis].extent == 0)
        return in.error("input " + in.type(0).text() + " has no elements along axis " + std::to_string(axis));
    if (in.node.intAttr("keepdims", 1) != 0)
        dims[axis] = Dim(1);
    else
        dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    in.outputs[0].dims = std::move(dims);
    return {};
}

// NaN is beyond every number, as numpy has it.
template <class T> bool isBeyond(T a, T b, bool max) {
    if (a != a || b != b)
        return b == b;
    return max ? a > b : a < b;
}

Status evalArg(EvalContext& context, bool max) {
    const Tensor& input = context.input(0);
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), input.rank());
    const bool last = lastWins(context.node);
    const std::int64_t extent = input.shape()[axis], inner = rowMajorStrides(input.shape())[axis];
    const auto y = context.outputs[0].mutableData<std::int64_t>();
    visitNumeric(input.type(), [&](auto tag) {
        using T = decltype(tag);
        const T* const x = input.data<T>().data();
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
            const T* const line = x + i / inner * inner * extent + i % inner;
            std::int64_t best = 0;
            for (std::int64_t k = 1; k < extent; ++k) {
                const T value = line[k * inner], top = line[best * inner];
                if (isBeyond(value, top, max) || (last && !isBeyond(top, value, max)))
                    best = k;
            }
            y[static_cast<std::size_t>(i)] = best;
        }
    });
    return {};
}

// Two reductions: the extreme value, then the least (greatest) index that has it.
Status lowerArg(LowerContext& context, bool maximum) {
    const TensorRef x = context.inputs[0];
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), x->shape.size());
    const bool last = lastWins(context.node), keep = context.node.intAttr("keepdims", 1) != 0;
    const std::int64_t extent = x->shape[axis];
    const TensorRef top =
        reduceOver(context, "extreme", computeType(x->type), maximum ? Reduction::max : Reduction::min, x->shape, {axis},
                   [&](const Indices& i) { return read(x, i); });
    const auto body = [&](const Indices& o, const Indices& r) {
        Indices at = o;
        if (keep)
            at[axis] = r[0];
        else
            at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), r[0]);
        const Expr found = isExtreme(read(x, at), readReduced(top, at, {axis}));
        return ReductionBody{select(found, r[0], last ? Expr(0) : Expr(extent - 1)), {}};
    };
    context.finish(0, reduce(maximum ? "arg_max" : "arg_min", DType::i64, context.outputShape(),
                             last ? Reduction::max : Reduction::min, {extent}, body));
    return {};
}

} // namespace

void registerArgReduce(OperatorList& list) {
    const auto add = [&](const char* name, bool max) {
        addOperator(
            list, name, Fusion::anchor, 1, {1, 1}, inferArg, [max](EvalContext& c) { return evalArg(c, max); },
            [max](LowerContext& c) { return lowerArg(c, max); });
    };
    add("ArgMax", true);
    add("ArgMin", false);
}

} // namespace tunesmith::ops
