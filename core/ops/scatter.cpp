// SPDX-License-Identifier: GPL-3.0-or-later
// Scatter, ScatterElements, ScatterND: a copy of the data with some elements replaced, or combined with updates.
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

enum class Combine { replace, add, mul, max, min };

Result<Combine> combineOf(const OpInputs& in) {
    const std::string name = in.node.stringAttr("reduction", "none");
    for (const auto& [known, combine] : {std::pair{"none", Combine::replace}, {"add", Combine::add}, {"mul", Combine::mul},
                                         {"max", Combine::max}, {"min", Combine::min}})
        if (name == known)
            return combine;
    return in.unsupported("the reduction '" + name + "' is not supported");
}

Status checkScatter(InferContext& in) {
    TS_TRY(requireIndexType(in, 1));
    TS_TRY(requireSameType(in, 0, 2));
    TS_ASSIGN(const Combine combine, combineOf(in));
    if (combine != Combine::replace)
        TS_TRY(requireNumeric(in, 0));
    in.outputs[0] = in.type(0);
    return {};
}

Status inferScatterElements(InferContext& in) {
    TS_TRY(checkScatter(in));
    if (!in.type(0).dims || !in.type(1).dims || !in.type(2).dims)
        return {};
    const Dims &data = *in.type(0).dims, &indices = *in.type(1).dims, &updates = *in.type(2).dims;
    if (data.size() != indices.size())
        return pairError(in, 0, 1, "have different ranks");
    if (indices.size() != updates.size())
        return pairError(in, 1, 2, "have different ranks");
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), data.size()));
    for (std::size_t d = 0; d < data.size(); ++d) {
        if (!mergeEqual(indices[d], updates[d]))
            return pairError(in, 1, 2, "must have the same shape");
        if (d != axis && data[d].known() && indices[d].known() && indices[d].extent > data[d].extent)
            return pairError(in, 0, 1, "do not fit: the indices reach further than the data");
    }
    return {};
}

Status inferScatterNd(InferContext& in) {
    TS_TRY(checkScatter(in));
    if (!in.type(0).dims || !in.type(1).dims || !in.type(2).dims)
        return {};
    const Dims &data = *in.type(0).dims, &indices = *in.type(1).dims, &updates = *in.type(2).dims;
    if (indices.empty() || data.empty())
        return pairError(in, 0, 1, "must not be scalars");
    if (!indices.back().known())
        return {};
    const std::int64_t depth = indices.back().extent;
    if (depth < 1 || depth > static_cast<std::int64_t>(data.size()))
        return pairError(in, 0, 1, "do not fit: an index has " + std::to_string(depth) + " numbers");
    Dims wanted(indices.begin(), indices.end() - 1);
    wanted.insert(wanted.end(), data.begin() + depth, data.end());
    bool same = wanted.size() == updates.size();
    for (std::size_t d = 0; same && d < wanted.size(); ++d)
        same = mergeEqual(wanted[d], updates[d]).has_value();
    return same ? Status() : Status(pairError(in, 1, 2, "do not fit the data " + in.type(0).text()));
}

template <class T> T combined(Combine combine, T old, T update) {
    switch (combine) {
    case Combine::add: return wrapping(old, update, [](auto a, auto b) { return a + b; });
    case Combine::mul: return wrapping(old, update, [](auto a, auto b) { return a * b; });
    case Combine::max: return old > update || old != old ? old : update;
    case Combine::min: return old < update || old != old ? old : update;
    default: return update;
    }
}

template <class Context> Error outOfRange(const Context& context, std::int64_t index, std::int64_t extent) {
    return context.error("index " + std::to_string(index) + " is out of range for " + std::to_string(extent) + " elements");
}

// result[offsets[n] + 0..run) is combined with updates[n * run ...).
void applyUpdates(Tensor& result, const Tensor& updates, const std::vector<std::int64_t>& offsets, std::int64_t run,
                  Combine combine) {
    const auto apply = [&](auto tag, auto fn) {
        using T = decltype(tag);
        T* const target = rawData<T>(result);
        const T* const source = rawData<T>(updates);
        for (std::size_t n = 0; n < offsets.size(); ++n)
            for (std::int64_t i = 0; i < run; ++i) {
                T& slot = target[offsets[n] + i];
                slot = fn(slot, source[static_cast<std::int64_t>(n) * run + i]);
            }
    };
    if (combine == Combine::replace)
        visitWidth(result.type(), [&](auto tag) { apply(tag, [](auto, auto update) { return update; }); });
    else
        visitNumeric(result.type(), [&](auto tag) {
            apply(tag, [combine](auto old, auto update) { return combined(combine, old, update); });
        });
}

// Of each index element of ScatterElements: where in the data its update goes.
template <class Context> Result<std::vector<std::int64_t>> elementOffsets(const Context& context, const Tensor& indices, const Shape& data) {
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), data.size());
    const Shape strides = rowMajorStrides(data), picked = rowMajorStrides(indices.shape());
    std::vector<std::int64_t> offsets = indices.asInts();
    for (std::int64_t n = 0; n < indices.count(); ++n) {
        const std::int64_t index = offsets[n], extent = data[axis];
        if (index < -extent || index >= extent)
            return outOfRange(context, index, extent);
        offsets[n] = 0;
        for (std::size_t d = 0; d < strides.size(); ++d) {
            const std::int64_t along = index < 0 ? index + extent : index;
            offsets[n] += (d == axis ? along : n / picked[d] % indices.shape()[d]) * strides[d];
        }
    }
    return offsets;
}

// Of each index tuple of ScatterND: where in the data its run of updates begins.
template <class Context> Result<std::vector<std::int64_t>> tupleOffsets(const Context& context, const Tensor& indices, const Shape& data) {
    const auto depth = static_cast<std::size_t>(indices.shape().back());
    const Shape strides = rowMajorStrides(data);
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(indices.count()) / depth, 0);
    for (std::size_t n = 0; n < offsets.size(); ++n)
        for (std::size_t k = 0; k < depth; ++k) {
            const std::int64_t index = indices.asInt(static_cast<std::int64_t>(n * depth + k)), extent = data[k];
            if (index < -extent || index >= extent)
                return outOfRange(context, index, extent);
            offsets[n] += (index < 0 ? index + extent : index) * strides[k];
        }
    return offsets;
}

Status scatter(EvalContext& context, const std::vector<std::int64_t>& offsets, std::int64_t run) {
    const OpInputs in(context.node, context.opset, {}, {});
    TS_ASSIGN(const Combine combine, combineOf(in));
    const DType type = context.input(0).type();
    const DType working = combine == Combine::replace ? type : computeType(type);
    Tensor result = Tensor::zeros(working, context.input(0).shape());
    const Tensor data = context.input(0).cast(working);
    std::copy(data.bytes().begin(), data.bytes().end(), result.mutableBytes().begin());
    applyUpdates(result, context.input(2).cast(working), offsets, run, combine);
    context.outputs[0] = result.cast(type);
    return {};
}

Status evalScatterElements(EvalContext& context, const std::vector<TensorType>&) {
    TS_ASSIGN(const std::vector<std::int64_t> offsets, elementOffsets(context, context.input(1), context.input(0).shape()));
    return scatter(context, offsets, 1);
}

Status evalScatterNd(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor &data = context.input(0), &indices = context.input(1);
    TS_ASSIGN(const std::vector<std::int64_t> offsets, tupleOffsets(context, indices, data.shape()));
    return scatter(context, offsets, elementCount(std::span(data.shape()).subspan(static_cast<std::size_t>(indices.shape().back()))));
}

// Where the indices are known, so is the update that each row of the data takes: a gather of updates and a choice. A row is
// what lies behind the first `depth` dimensions.
Status gatherUpdates(ExpandContext& context, const std::vector<std::int64_t>& offsets, std::size_t depth) {
    const Shape data = context.type(0).shape();
    const Shape rows(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(depth)), row(data.begin() + static_cast<std::ptrdiff_t>(depth), data.end());
    const std::int64_t run = elementCount(row);
    if (offsets.empty() || elementCount(data) == 0) {
        context.outputs[0] = context.node.inputs[0];
        return {};
    }
    Tensor sources = Tensor::zeros(DType::i64, rows), taken = Tensor::zeros(DType::boolean, rows);
    for (std::size_t n = 0; n < offsets.size(); ++n) {
        sources.mutableData<std::int64_t>()[static_cast<std::size_t>(offsets[n] / run)] = static_cast<std::int64_t>(n);
        taken.mutableData<bool>()[static_cast<std::size_t>(offsets[n] / run)] = true;
    }
    Shape flat = row, spread = rows;
    flat.insert(flat.begin(), static_cast<std::int64_t>(offsets.size()));
    spread.resize(data.size(), 1);
    const ValueId updates = context.add("Gather", {context.reshape(context.node.inputs[2], flat), context.addConstant(sources)});
    context.outputs[0] = context.add("Where", {context.addConstant(taken.reshaped(spread)), updates, context.node.inputs[0]});
    return {};
}

Status requireKnownPlaces(const ExpandContext& context) {
    constexpr std::int64_t kMost = std::int64_t(1) << 20; // elements of the map
    TS_ASSIGN(const Combine combine, combineOf(context));
    if (combine != Combine::replace || !context.isConstant(1) || !context.type(0).isStatic() || !context.type(2).isStatic() || byteSize(context.type(0).dtype) == 0)
        return context.unsupported("it can be written with other operators only when its shapes and indices are known and it combines nothing");
    return elementCount(context.type(0).shape()) <= kMost ? Status() : Status(context.unsupported("its data is too large for a map of its places"));
}

Status expandScatterElements(ExpandContext& context) {
    TS_TRY(requireKnownPlaces(context));
    const Shape data = context.type(0).shape();
    const auto offsets = elementOffsets(context, context.constant(1), data);
    return offsets.ok() ? gatherUpdates(context, *offsets, data.size()) : Status(context.unsupported(offsets.error().message));
}

Status expandScatterNd(ExpandContext& context) {
    TS_TRY(requireKnownPlaces(context));
    const auto offsets = tupleOffsets(context, context.constant(1), context.type(0).shape());
    const auto depth = static_cast<std::size_t>(context.constant(1).shape().back());
    return offsets.ok() ? gatherUpdates(context, *offsets, depth) : Status(context.unsupported(offsets.error().message));
}

} // namespace

void registerScatter(OperatorList& list) {
    addMovement(list, "Scatter", Fusion::opaque, 9, {3, 3}, inferScatterElements, evalScatterElements);
    list.back().expand = expandScatterElements;
    addMovement(list, "ScatterElements", Fusion::opaque, 11, {3, 3}, inferScatterElements, evalScatterElements);
    list.back().expand = expandScatterElements;
    addMovement(list, "ScatterND", Fusion::opaque, 11, {3, 3}, inferScatterNd, evalScatterNd);
    list.back().expand = expandScatterNd;
}

} // namespace tunesmith::ops
