// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>
#include <limits>

#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/pool.h"
#include "core/ops/rules.h"

// Pools over windows: x [N, C, spatial...], any number of spatial dimensions. Padding never takes part in a maximum; an
// average counts it only with count_include_pad.
namespace tunesmith::ops {
namespace {

using namespace loops;

// Pads as large as the window would make windows without any element.
Result<WindowAttributes> poolAttributes(const Node& node, std::size_t rank) {
    const Shape kernel = node.intsAttr("kernel_shape");
    if (kernel.size() != rank)
        return inputError("kernel_shape " + attributeText(kernel) + " needs " + std::to_string(rank) + " values");
    TS_ASSIGN(WindowAttributes attributes, readWindows(node, kernel));
    for (const Window& window : attributes.dims)
        if (window.padBegin >= window.span() || window.padEnd >= window.span())
            return inputError("pads must be smaller than the window");
    return attributes;
}

} // namespace

Result<WindowGeometry> poolGeometry(const Node& node, const Shape& x) {
    TS_ASSIGN(const WindowAttributes attributes, poolAttributes(node, x.size() - 2));
    return windowGeometry(attributes, spatialExtents(x));
}

Result<Dims> pooledDims(const OpInputs& in, const Dims& x) {
    if (x.size() < 3)
        return in.error("input " + in.type(0).text() + " has no spatial dimensions");
    const auto attributes = poolAttributes(in.node, x.size() - 2);
    if (!attributes.ok())
        return in.error(attributes.error().message);
    const auto positions = windowedDims(*attributes, Dims(x.begin() + 2, x.end()));
    if (!positions.ok())
        return in.error("input " + in.type(0).text() + ": " + positions.error().message);
    Dims dims{x[0], x[1]};
    dims.insert(dims.end(), positions->begin(), positions->end());
    return dims;
}

std::int64_t tapsCounted(const WindowGeometry& g, const Shape& at, bool includePad) {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < g.rank(); ++d) {
        Window window = g.dims[d];
        std::int64_t extent = g.input[d];
        if (includePad) {
            extent += window.padBegin + window.padEnd;
            window.padBegin = 0;
        }
        const TapRange range = tapsInside(window, at[d], extent);
        count *= range.last - range.first;
    }
    return count;
}

namespace {

// Taps of dimension d that are counted at output index o, as an expression; constant where no window overhangs.
Expr countedTaps(const WindowGeometry& g, std::size_t d, const Expr& o, bool includePad) {
    const Window& w = g.dims[d];
    const std::int64_t end = g.input[d] + (includePad ? w.padEnd : 0);
    const bool overBegin = !includePad && g.leavesBegin(d);
    const bool overEnd = (g.output[d] - 1) * w.stride - w.padBegin + w.span() > end;
    if (!overBegin && !overEnd)
        return Expr(w.kernel);
    const Expr start = o * Expr(w.stride) - Expr(w.padBegin);
    const auto ceilDiv = [&](const Expr& a) { return (a + Expr(w.dilation - 1)) / Expr(w.dilation); };
    const Expr last = overEnd ? min(Expr(w.kernel), ceilDiv(Expr(end) - start)) : Expr(w.kernel);
    return overBegin ? last - max(Expr(0), ceilDiv(Expr(0) - start)) : last;
}

} // namespace

Expr tapsCounted(const WindowGeometry& g, const Indices& positions, bool includePad) {
    Expr count(1);
    for (std::size_t d = 0; d < g.rank(); ++d)
        count = count * countedTaps(g, d, positions[d], includePad);
    return count;
}

Stage poolStage(const WindowGeometry& g, const std::string& name, DType type, Reduction reduction, std::int64_t batch,
                std::int64_t channels, const std::function<Expr(const Indices&)>& term) {
    Shape extents, shape{batch, channels};
    for (std::size_t d = 0; d < g.rank(); ++d) {
        extents.push_back(g.dims[d].kernel);
        shape.push_back(g.output[d]);
    }
    return reduce(name, type, shape, reduction, extents, [&](const Indices& o, const Indices& r) {
        Indices at{o[0], o[1]}, taps;
        for (std::size_t d = 0; d < g.rank(); ++d)
            taps.push_back(tapIndex(g.dims[d], o[d + 2], r[d]));
        at.insert(at.end(), taps.begin(), taps.end());
        return ReductionBody{term(at), tapGuard(g, taps)};
    });
}

namespace {

Status inferPool(InferContext& in) {
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    TS_ASSIGN(in.outputs[0].dims, pooledDims(in, *in.type(0).dims));
    return {};
}

Status inferFloatPool(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    return inferPool(in);
}

Status inferMaxPool(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(inferPool(in));
    if (in.outputs.size() > 1) {
        in.outputs[1] = in.outputs[0];
        in.outputs[1].dtype = DType::i64;
    }
    return {};
}

// visit(offset, count, step): runs of input elements that the window of output position `at` covers.
template <class Visit> void forEachTapRun(const WindowGeometry& g, const Shape& at, const Shape& strides, Visit&& visit) {
    const std::size_t rank = g.rank();
    Shape count(rank), index(rank, 0);
    std::int64_t origin = 0;
    for (std::size_t d = 0; d < rank; ++d) {
        const TapRange range = tapsInside(g.dims[d], at[d], g.input[d]);
        if (range.first >= range.last)
            return;
        count[d] = range.last - range.first;
        origin += (at[d] * g.dims[d].stride - g.dims[d].padBegin + range.first * g.dims[d].dilation) * strides[d];
    }
    const std::int64_t run = count[rank - 1], step = g.dims[rank - 1].dilation;
    count[rank - 1] = 1;
    do {
        std::int64_t offset = origin;
        for (std::size_t d = 0; d + 1 < rank; ++d)
            offset += index[d] * g.dims[d].dilation * strides[d];
        visit(offset, run, step);
    } while (nextIndex(index, count));
}

// visit(plane of x, position in the output, its index): each output element of every image and channel.
template <class Visit> void forEachWindow(const WindowGeometry& g, std::int64_t planes, Visit&& visit) {
    if (elementCount(g.output) == 0)
        return;
    std::int64_t element = 0;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
        Shape at(g.rank(), 0);
        do
            visit(plane, element++, at);
        while (nextIndex(at, g.output));
    }
}

// Where an element lies in the whole of x; with storage_order 1 spatial positions count column by column.
std::int64_t flatIndex(const WindowGeometry& g, std::int64_t plane, std::int64_t offset, bool columnMajor) {
    const std::int64_t base = plane * elementCount(g.input);
    if (!columnMajor)
        return base + offset;
    const Shape strides = rowMajorStrides(g.input);
    std::int64_t flat = 0, scale = 1;
    for (std::size_t d = 0; d < g.rank(); ++d) {
        flat += offset / strides[d] * scale;
        offset %= strides[d];
        scale *= g.input[d];
    }
    return base + flat;
}

template <class T> void maxPool(EvalContext& context, const WindowGeometry& g, std::int64_t planes) {
    const Shape strides = rowMajorStrides(g.input);
    const std::int64_t planeSize = elementCount(g.input);
    const bool columnMajor = context.node.intAttr("storage_order", 0) != 0;
    const T* const x = context.input(0).data<T>().data();
    T* const y = context.outputs[0].mutableData<T>().data();
    std::int64_t* const indices = context.wanted(1) ? context.outputs[1].mutableData<std::int64_t>().data() : nullptr;
    using Limits = std::numeric_limits<T>;
    forEachWindow(g, planes, [&](std::int64_t plane, std::int64_t element, const Shape& at) {
        const T* const from = x + plane * planeSize;
        T best = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
        std::int64_t where = -1;
        forEachTapRun(g, at, strides, [&](std::int64_t offset, std::int64_t count, std::int64_t step) {
            for (std::int64_t i = 0; i < count; ++i)
                if (const T value = from[offset + i * step]; where < 0 || value > best || value != value) {
                    best = value;
                    where = offset + i * step;
                }
        });
        y[element] = best;
        if (indices)
            indices[element] = where < 0 ? -1 : flatIndex(g, plane, where, columnMajor); // a window may lie in the padding alone
    });
}

std::int64_t planesOf(const Shape& x) { return x[0] * x[1]; }

Status evalMaxPool(EvalContext& context) {
    const Shape& x = context.input(0).shape();
    TS_ASSIGN(const WindowGeometry geometry, poolGeometry(context.node, x));
    visitNumeric(context.outputs[0].type(), [&](auto tag) { maxPool<decltype(tag)>(context, geometry, planesOf(x)); });
    return {};
}

// Sum over each window of f(x), as finish(sum, position).
template <class Term, class Finish>
void sumPool(EvalContext& context, const WindowGeometry& g, Term term, Finish finish) {
    const Shape strides = rowMajorStrides(g.input);
    const std::int64_t planeSize = elementCount(g.input);
    visitFloat(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        const T* const x = context.input(0).data<T>().data();
        T* const y = context.outputs[0].mutableData<T>().data();
        forEachWindow(g, planesOf(context.input(0).shape()), [&](std::int64_t plane, std::int64_t element, const Shape& at) {
            double sum = 0;
            forEachTapRun(g, at, strides, [&](std::int64_t offset, std::int64_t count, std::int64_t step) {
                for (std::int64_t i = 0; i < count; ++i)
                    sum += term(static_cast<double>(x[plane * planeSize + offset + i * step]));
            });
            y[element] = static_cast<T>(finish(sum, at));
        });
    });
}

bool includesPad(const Node& node) { return node.intAttr("count_include_pad", 0) != 0; }

Status evalAveragePool(EvalContext& context) {
    TS_ASSIGN(const WindowGeometry g, poolGeometry(context.node, context.input(0).shape()));
    const bool includePad = includesPad(context.node);
    sumPool(context, g, [](double x) { return x; },
            [&](double sum, const Shape& at) { return sum / static_cast<double>(tapsCounted(g, at, includePad)); });
    return {};
}

Status evalLpPool(EvalContext& context) {
    TS_ASSIGN(const WindowGeometry g, poolGeometry(context.node, context.input(0).shape()));
    const auto p = static_cast<double>(context.node.intAttr("p", 2));
    sumPool(context, g, [p](double x) { return std::pow(std::fabs(x), p); },
            [p](double sum, const Shape&) { return std::pow(sum, 1 / p); });
    return {};
}

// Over input 0, read in the type that it is computed in.
Stage poolStage(const LowerContext& context, const WindowGeometry& g, const std::string& name, Reduction reduction,
                const std::function<Expr(const Expr&)>& term) {
    const Shape& x = context.inputShape(0);
    return poolStage(g, name, computeType(context.outputType()), reduction, x[0], x[1],
                     [&](const Indices& at) { return term(read(context.inputs[0], at)); });
}

Status lowerMaxPool(LowerContext& context) {
    TS_ASSIGN(const WindowGeometry g, poolGeometry(context.node, context.inputShape(0)));
    finishReduction(context, poolStage(context, g, "max_pool", Reduction::max, [](const Expr& x) { return x; }));
    return {};
}

Status maxPoolLowerable(const OpInputs& in) {
    if (in.node.outputs.size() > 1 && in.node.outputs[1].valid())
        return in.unsupported("the output Indices is not compiled");
    return {};
}

Status lowerAveragePool(LowerContext& context) {
    TS_ASSIGN(const WindowGeometry g, poolGeometry(context.node, context.inputShape(0)));
    const bool includePad = includesPad(context.node);
    const TensorRef sum = context.add(poolStage(context, g, "pool_sum", Reduction::sum, [](const Expr& x) { return x; }));
    lowerElementwise(context, "avg_pool", [&](const Indices& i) {
        const Expr count = tapsCounted(g, Indices(i.begin() + 2, i.end()), includePad);
        if (const auto known = constantValue(count))
            return load(sum, i) * constantOf(sum->type, 1.0 / static_cast<double>(*known));
        return load(sum, i) / cast(sum->type, count);
    });
    return {};
}

Expr raised(const Expr& x, std::int64_t p) {
    if (p == 1)
        return unary(Op::abs, x);
    if (p == 2)
        return x * x;
    return binary(Op::pow, unary(Op::abs, x), constantOf(x->type, static_cast<double>(p)));
}

Expr root(const Expr& x, std::int64_t p) {
    if (p == 1)
        return x;
    if (p == 2)
        return unary(Op::sqrt, x);
    return binary(Op::pow, x, constantOf(x->type, 1.0 / static_cast<double>(p)));
}

Status lowerLpPool(LowerContext& context) {
    TS_ASSIGN(const WindowGeometry g, poolGeometry(context.node, context.inputShape(0)));
    const std::int64_t p = context.node.intAttr("p", 2);
    const TensorRef sum =
        context.add(poolStage(context, g, "pool_sum", Reduction::sum, [p](const Expr& x) { return raised(x, p); }));
    lowerElementwise(context, "lp_pool", [&](const Indices& i) { return root(load(sum, i), p); });
    return {};
}

Status inferLpPool(InferContext& in) {
    if (in.node.intAttr("p", 2) < 1)
        return in.error("p must be at least 1, not " + std::to_string(in.node.intAttr("p", 2)));
    return inferFloatPool(in);
}

} // namespace

void registerPool(OperatorList& list) {
    addOperator(list, "MaxPool", Fusion::anchor, 1, {1, 1, 2}, inferMaxPool, evalMaxPool, lowerMaxPool, maxPoolLowerable);
    addOperator(list, "AveragePool", Fusion::anchor, 1, {1, 1}, inferFloatPool, evalAveragePool, lowerAveragePool);
    addOperator(list, "LpPool", Fusion::anchor, 2, {1, 1}, inferLpPool, evalLpPool, lowerLpPool);
}

} // namespace tunesmith::ops
