// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/scratch.h"
#include "core/graph/float_to_int.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/reduction.h"
#include "core/ops/rules.h"

// The Reduce family. Axes are an attribute in old opsets (ReduceSum before 13, the others before 18) and an input since.
namespace tunesmith::ops {

Shape keptShape(const Shape& shape, const std::vector<std::size_t>& axes) {
    Shape kept = shape;
    for (const std::size_t axis : axes)
        kept[axis] = 1;
    return kept;
}

namespace {

using namespace loops;
using Axes = std::vector<std::size_t>;

enum class ReduceKind : std::uint8_t { sum, mean, max, min, product, l1, l2, sumSquare, logSum, logSumExp };

bool keepsDims(const Node& node) { return node.intAttr("keepdims", 1) != 0; }

Axes reducedAxes(const std::vector<std::int64_t>& axes, std::size_t rank, const Node& node) {
    Axes front;
    for (const std::int64_t axis : axes)
        front.push_back(frontAxis(axis, rank));
    if (axes.empty() && node.intAttr("noop_with_empty_axes", 0) == 0) {
        front.resize(rank);
        std::iota(front.begin(), front.end(), 0);
    }
    std::sort(front.begin(), front.end());
    return front;
}

// The axes of a node whose axes input, if it has one, is a constant.
std::vector<std::int64_t> statedAxes(const OpInputs& in) {
    return in.has(1) ? in.constant(1).asInts() : in.node.intsAttr("axes");
}

// Since opset 20, a maximum of truth values is "any" and a minimum is "all".
Status requireReducible(const OpInputs& in, ReduceKind kind) {
    if (kind != ReduceKind::max && kind != ReduceKind::min)
        return requireNumeric(in, 0);
    return requireType(in, 0, [](DType type) { return isNumeric(type) || type == DType::boolean; }, "numeric or bool");
}

Status inferReduce(InferContext& in, ReduceKind kind) {
    TS_TRY(requireReducible(in, kind));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (in.has(1))
        TS_TRY(requireType(in, 1, [](DType type) { return type == DType::i64; }, "int64"));
    if (!in.type(0).dims)
        return {};
    const Dims& x = *in.type(0).dims;
    const bool keep = keepsDims(in.node);
    if (in.has(1) && !in.isConstant(1)) {
        if (keep)
            in.outputs[0].dims = Dims(x.size());
        return {};
    }
    const std::vector<std::int64_t> stated = statedAxes(in);
    for (const std::int64_t axis : stated)
        TS_TRY([&]() -> Status { return frontAxis(in, axis, x.size()).ok() ? Status() : frontAxis(in, axis, x.size()).error(); }());
    const Axes axes = reducedAxes(stated, x.size(), in.node);
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
        return in.error("axes " + attributeText(stated) + " name an axis twice");
    in.outputs[0].dims = Dims();
    for (std::size_t d = 0; d < x.size(); ++d) {
        if (!std::binary_search(axes.begin(), axes.end(), d))
            in.outputs[0].dims->push_back(x[d]);
        else if (keep)
            in.outputs[0].dims->emplace_back(1);
    }
    return {};
}

// How a kind folds (in A) and what is done with the result.
template <class A> struct Folding {
    A start;
    A (*fold)(A, A);
    A (*finish)(A value, A count);
};

template <class A> A same(A value, A) { return value; }
template <class A> A plus(A a, A b) {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
}
template <class A> A times(A a, A b) {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
}
template <class A> A magnitude(A x) { return x < 0 ? times(x, static_cast<A>(-1)) : x; }
template <class T, class A> A squareRoot(A x, A) { return static_cast<A>(numberAs<T>(std::sqrt(static_cast<double>(x)))); }
template <class T, class A> A logarithm(A x, A) { return static_cast<A>(numberAs<T>(std::log(static_cast<double>(x)))); }

template <class A> A average(A sum, A count) {
    if constexpr (std::is_integral_v<A>)
        return count == 0 ? A{} : sum / count;
    else
        return sum / count;
}

// T: the type of the elements, whose limits a maximum or minimum of nothing is.
template <class T, class A> Folding<A> foldingOf(ReduceKind kind) {
    using Limits = std::numeric_limits<T>;
    const A lowest = Limits::has_infinity ? static_cast<A>(-Limits::infinity()) : static_cast<A>(Limits::lowest());
    const A highest = Limits::has_infinity ? static_cast<A>(Limits::infinity()) : static_cast<A>(Limits::max());
    const auto square = [](A all, A x) { return plus(all, times(x, x)); };
    switch (kind) {
    case ReduceKind::mean: return {A{}, plus<A>, average<A>};
    case ReduceKind::max: return {lowest, [](A all, A x) { return x > all || x != x ? x : all; }, same<A>};
    case ReduceKind::min: return {highest, [](A all, A x) { return x < all || x != x ? x : all; }, same<A>};
    case ReduceKind::product: return {A{1}, times<A>, same<A>};
    case ReduceKind::l1: return {A{}, [](A all, A x) { return plus(all, magnitude(x)); }, same<A>};
    case ReduceKind::l2: return {A{}, square, squareRoot<T, A>};
    case ReduceKind::sumSquare: return {A{}, square, same<A>};
    case ReduceKind::logSum:
    case ReduceKind::logSumExp: return {A{}, plus<A>, logarithm<T, A>};
    case ReduceKind::sum: break;
    }
    return {A{}, plus<A>, same<A>};
}

template <class T, class A> void reduceKind(ReduceKind kind, const Tensor& input, const Axes& axes, Tensor& out) {
    const Folding<A> folding = foldingOf<T, A>(kind);
    const T* const x = input.data<T>().data();
    const auto y = out.mutableData<T>();
    Scratch<A> acc(y.size(), folding.start);
    std::int64_t count = 1;
    for (const std::size_t axis : axes)
        count *= input.shape()[axis];
    foldOver(input.shape(), x, axes, acc.data(), [&](A all, T value) { return folding.fold(all, static_cast<A>(value)); });
    for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = static_cast<T>(folding.finish(acc[i], static_cast<A>(count)));
}

// log(sum(exp(x))) as max + log(sum(exp(x - max))): nothing overflows. An infinite maximum is the result.
template <class T> void logSumExp(const Tensor& input, const Axes& axes, Tensor& out) {
    const T* const x = input.data<T>().data();
    const auto y = out.mutableData<T>();
    Scratch<double> top(y.size(), -std::numeric_limits<double>::infinity()), sum(y.size(), 0.0);
    foldOver(input.shape(), x, axes, top.data(),
             [](double all, T value) { return static_cast<double>(value) > all || value != value ? static_cast<double>(value) : all; });
    Scratch<double> terms(static_cast<std::size_t>(input.count()));
    mapWithReduced(input.shape(), x, axes, top.data(), terms.data(),
                   [](T value, double most) { return std::exp(static_cast<double>(value) - most); });
    foldOver(input.shape(), terms.data(), axes, sum.data(), [](double all, double value) { return all + value; });
    for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = numberAs<T>(std::isinf(top[i]) ? top[i] : top[i] + std::log(sum[i]));
}

Status evalReduce(EvalContext& context, ReduceKind kind) {
    const Tensor& given = context.input(0);
    const bool truths = given.type() == DType::boolean;
    const Tensor input = truths ? given.cast(DType::u8) : given;
    const auto stated = context.has(1) ? context.input(1).asInts() : context.node.intsAttr("axes");
    const Axes axes = reducedAxes(stated, input.rank(), context.node);
    Tensor out = truths ? Tensor::zeros(DType::u8, context.outputs[0].shape()) : context.outputs[0];
    visitNumeric(out.type(), [&](auto tag) {
        using T = decltype(tag);
        if (kind == ReduceKind::logSumExp)
            logSumExp<T>(input, axes, out);
        else if constexpr (std::is_floating_point_v<T>)
            reduceKind<T, double>(kind, input, axes, out);
        else
            reduceKind<T, std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>>(kind, input, axes,
                                                                                                            out);
    });
    context.outputs[0] = truths ? out.cast(DType::boolean) : out;
    return {};
}

Reduction reductionOf(ReduceKind kind) {
    switch (kind) {
    case ReduceKind::max: return Reduction::max;
    case ReduceKind::min: return Reduction::min;
    case ReduceKind::product: return Reduction::product;
    default: return Reduction::sum;
    }
}

Expr termOf(ReduceKind kind, const Expr& x) {
    if (kind == ReduceKind::l1)
        return unary(Op::abs, x);
    return kind == ReduceKind::l2 || kind == ReduceKind::sumSquare ? x * x : x;
}

Expr finishOf(ReduceKind kind, const Expr& x, std::int64_t count) {
    switch (kind) {
    case ReduceKind::mean: return x * constantOf(x->type, 1.0 / static_cast<double>(count));
    case ReduceKind::l2: return unary(Op::sqrt, x);
    case ReduceKind::logSum: return unary(Op::log, x);
    default: return x;
    }
}

const char* stageName(ReduceKind kind) {
    constexpr const char* names[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1",
                                     "reduce_l2", "reduce_sum_square", "reduce_log_sum", "reduce_log_sum_exp"};
    return names[static_cast<std::size_t>(kind)];
}

// Indices into the kept shape (reduced axes at 0) from those into the output, which may lack them.
Indices keptIndices(const Indices& out, std::size_t rank, const Axes& axes) {
    if (out.size() == rank)
        return out;
    Indices kept;
    std::size_t next = 0;
    for (std::size_t d = 0; d < rank; ++d)
        kept.push_back(std::binary_search(axes.begin(), axes.end(), d) ? Expr(0) : out[next++]);
    return kept;
}

// The reduction with the node's own output shape, so that without a finishing step it is a single stage.
Stage reduceStage(LowerContext& context, ReduceKind kind, const std::string& name, const Axes& axes) {
    const TensorRef& x = context.inputs[0];
    const DType type = computeType(x->type);
    const auto term = [&](const Indices& i) { return termOf(kind, read(x, i)); };
    if (isLongSum(type, reductionOf(kind), x->shape, axes)) {
        const TensorRef sum = reduceOver(context, name + "_long", type, reductionOf(kind), x->shape, axes, term);
        return compute(name, type, context.outputShape(), [&](const Indices& o) { return load(sum, keptIndices(o, x->shape.size(), axes)); });
    }
    Shape extents;
    for (const std::size_t axis : axes)
        extents.push_back(x->shape[axis]);
    return reduce(name, type, context.outputShape(), reductionOf(kind), extents, [&](const Indices& o, const Indices& r) {
        Indices at = keptIndices(o, x->shape.size(), axes);
        for (std::size_t i = 0; i < axes.size(); ++i)
            at[axes[i]] = r[i];
        return ReductionBody{term(at), {}};
    });
}

void lowerLogSumExp(LowerContext& context, const Axes& axes) {
    const TensorRef x = context.inputs[0];
    const DType type = computeType(x->type);
    const TensorRef top = reduceOver(context, "reduce_max", type, Reduction::max, x->shape, axes,
                                     [&](const Indices& i) { return read(x, i); });
    const TensorRef sum = reduceOver(context, "reduce_sum_exp", type, Reduction::sum, x->shape, axes, [&](const Indices& i) {
        return unary(Op::expDown, read(x, i) - readReduced(top, i, axes));
    });
    lowerElementwise(context, "reduce_log_sum_exp", [&](const Indices& i) {
        const Indices kept = keptIndices(i, x->shape.size(), axes);
        const Expr most = load(top, kept);
        return select(unary(Op::isInf, most), most, most + unary(Op::log, load(sum, kept)));
    });
}

Status lowerReduce(LowerContext& context, ReduceKind kind) {
    const TensorRef x = context.inputs[0];
    const Axes axes = reducedAxes(statedAxes(context), x->shape.size(), context.node);
    const std::int64_t count = countOver(x->shape, axes);
    if (kind == ReduceKind::logSumExp && !axes.empty()) {
        lowerLogSumExp(context, axes);
        return {};
    }
    if (axes.empty()) {
        lowerElementwise(context, stageName(kind), [&](const Indices& i) {
            return kind == ReduceKind::logSumExp ? read(x, i) : finishOf(kind, termOf(kind, read(x, i)), 1);
        });
        return {};
    }
    const bool finishes = kind == ReduceKind::mean || kind == ReduceKind::l2 || kind == ReduceKind::logSum;
    if (!finishes) {
        finishReduction(context, reduceStage(context, kind, stageName(kind), axes));
        return {};
    }
    const char* const name = kind == ReduceKind::l2 ? "reduce_sum_square" : "reduce_sum";
    const TensorRef sum = context.add(reduceStage(context, kind, name, axes));
    lowerElementwise(context, stageName(kind), [&](const Indices& i) { return finishOf(kind, load(sum, i), count); });
    return {};
}

Status reduceLowerable(const OpInputs& in, ReduceKind kind) {
    if (in.has(1) && !in.isConstant(1))
        return in.unsupported("axes that are not constant are not compiled");
    const bool fractions = kind == ReduceKind::mean || kind == ReduceKind::l2 || kind == ReduceKind::logSum || kind == ReduceKind::logSumExp;
    if (fractions && isInteger(in.type(0).dtype))
        return in.unsupported("this reduction of integers is not compiled");
    if (in.type(0).dtype == DType::boolean)
        return in.unsupported("reductions of truth values are not compiled");
    return {};
}

} // namespace

void registerReduce(OperatorList& list) {
    const auto add = [&](const char* name, ReduceKind kind) {
        addOperator(
            list, name, Fusion::anchor, 1, {1, 2}, [kind](InferContext& c) { return inferReduce(c, kind); },
            [kind](EvalContext& c) { return evalReduce(c, kind); },
            [kind](LowerContext& c) { return lowerReduce(c, kind); },
            [kind](const OpInputs& in) { return reduceLowerable(in, kind); });
    };
    add("ReduceSum", ReduceKind::sum);
    add("ReduceMean", ReduceKind::mean);
    add("ReduceMax", ReduceKind::max);
    add("ReduceMin", ReduceKind::min);
    add("ReduceProd", ReduceKind::product);
    add("ReduceL1", ReduceKind::l1);
    add("ReduceL2", ReduceKind::l2);
    add("ReduceSumSquare", ReduceKind::sumSquare);
    add("ReduceLogSum", ReduceKind::logSum);
    add("ReduceLogSumExp", ReduceKind::logSumExp);
}

} // namespace tunesmith::ops
