// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

// TensorScatter: a cache with new entries written behind what each sequence of the batch has, around its end where it is
// circular.
namespace tunesmith::ops {
namespace {

enum ScatterInput : std::size_t { kCache, kUpdate, kPlaces };

bool isCircular(const Node& node) { return node.stringAttr("mode", "linear") == "circular"; }

Status inferTensorScatter(InferContext& in) {
    TS_TRY(requireSameType(in, kCache, kUpdate));
    const std::string mode = in.node.stringAttr("mode", "linear");
    if (mode != "linear" && mode != "circular")
        return in.error("mode must be linear or circular, not '" + mode + "'");
    in.outputs[0] = in.type(kCache);
    if (in.has(kPlaces))
        TS_TRY(requireIndexType(in, kPlaces));
    if (!in.type(kCache).dims || !in.type(kUpdate).dims)
        return {};
    const Dims &cache = *in.type(kCache).dims, &update = *in.type(kUpdate).dims;
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", -2), cache.size()));
    if (axis == 0)
        return in.error("its axis cannot be the batch");
    bool fits = cache.size() == update.size();
    for (std::size_t d = 0; fits && d < cache.size(); ++d)
        fits = d == axis ? !cache[d].known() || !update[d].known() || update[d].extent <= cache[d].extent : mergeEqual(cache[d], update[d]).has_value();
    if (!fits)
        return pairError(in, kCache, kUpdate, "do not fit: only axis " + std::to_string(axis) + " of the update may be shorter");
    if (in.has(kPlaces) && in.type(kPlaces).dims && (in.type(kPlaces).dims->size() != 1 || !mergeEqual(in.type(kPlaces).dims->front(), cache[0])))
        return pairError(in, kCache, kPlaces, "do not fit: one place for each of the batch is needed");
    return {};
}

// A cache as rows: batch, what lies between batch and axis, the axis, what lies behind it.
struct CacheShape {
    std::int64_t between = 1, capacity, added, inner;

    CacheShape(const Node& node, const Shape& cache, const Shape& update) {
        const std::size_t axis = frontAxis(node.intAttr("axis", -2), cache.size());
        for (std::size_t d = 1; d < axis; ++d)
            between *= cache[d];
        capacity = cache[axis];
        added = update[axis];
        inner = rowMajorStrides(cache)[axis];
    }
};

Status evalTensorScatter(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor &cache = context.input(kCache), &update = context.input(kUpdate);
    const CacheShape s(context.node, cache.shape(), update.shape());
    for (std::int64_t b = 0; context.has(kPlaces) && !isCircular(context.node) && b < context.input(kPlaces).count(); ++b)
        if (const std::int64_t first = context.input(kPlaces).asInt(b); first < 0 || first > s.capacity - s.added)
            return context.error(std::to_string(s.added) + " entries at place " + std::to_string(first) + " do not fit a cache of " + std::to_string(s.capacity));
    Tensor result = Tensor::zeros(cache.type(), cache.shape());
    std::ranges::copy(cache.bytes(), result.mutableBytes().begin());
    visitWidth(cache.type(), [&](auto tag) {
        using T = decltype(tag);
        const T* from = rawData<T>(update);
        for (std::int64_t row = 0; update.count() > 0 && row < cache.shape()[0] * s.between; ++row) {
            const std::int64_t first = context.has(kPlaces) ? context.input(kPlaces).asInt(row / s.between) : 0;
            for (std::int64_t t = 0; t < s.added; ++t, from += s.inner) {
                const std::int64_t at = ((first + t) % s.capacity + s.capacity) % s.capacity;
                std::copy_n(from, s.inner, rawData<T>(result) + (row * s.capacity + at) * s.inner);
            }
        }
    });
    context.outputs[0] = std::move(result);
    return {};
}

// Each element is read: from the update where its place was written, from the cache elsewhere.
Status lowerTensorScatter(LowerContext& context) {
    using namespace loops;
    const Shape &cache = context.inputShape(kCache), &update = context.inputShape(kUpdate);
    const std::size_t axis = frontAxis(context.node.intAttr("axis", -2), cache.size());
    const Expr capacity(cache[axis]), added(update[axis]), none(0);
    context.finish(0, compute("tensor_scatter", context.outputType(), context.outputShape(), [&](const Indices& i) {
        const Expr first = context.has(kPlaces) ? cast(DType::i64, load(context.inputs[kPlaces], {i[0]})) : none;
        const Expr behind = isCircular(context.node) ? (i[axis] - first) % capacity : i[axis] - first;
        Indices at = i;
        at[axis] = max(min(behind, added - Expr(1)), none);
        return select(behind >= none && behind < added, load(context.inputs[kUpdate], at), load(context.inputs[kCache], i));
    }));
    return {};
}

} // namespace

void registerTensorScatter(OperatorList& list) {
    addMovement(list, "TensorScatter", Fusion::injective, 24, {2, 3}, inferTensorScatter, evalTensorScatter, lowerTensorScatter,
                [](const OpInputs& in) {
                    const bool empty = in.type(kUpdate).isStatic() && elementCount(in.type(kUpdate).shape()) == 0;
                    return empty ? Status(in.unsupported("nothing is written")) : Status();
                });
}

} // namespace tunesmith::ops
