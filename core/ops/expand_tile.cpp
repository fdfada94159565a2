// SPDX-License-Identifier: GPL-3.0-or-later
// Expand and Tile: elements repeated.
#include "core/ops/broadcast.h"
#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

Status inferExpand(InferContext& in) {
    TS_TRY(requireIndexType(in, 1));
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.isConstant(1)) {
        const auto& data = in.type(0).dims;
        const auto& wanted = in.type(1).dims;
        if (data && wanted && wanted->size() == 1 && wanted->front().known()) {
            TS_ASSIGN(Dims dims, openDims(in, 1));
            dims.resize(std::max(data->size(), dims.size()));
            in.outputs[0].dims = std::move(dims);
        }
        return {};
    }
    if (!in.type(0).dims)
        return {};
    const Shape wanted = in.constant(1).asInts();
    if (!checkedElementCount(wanted))
        return in.error("the shape to expand to is not possible");
    in.outputs[0].dims = broadcastDims(*in.type(0).dims, knownDims(wanted));
    if (!in.outputs[0].dims)
        return in.error("cannot expand " + in.type(0).text() + " to " + shapeText(wanted));
    return {};
}

Status evalExpand(EvalContext& context, const std::vector<TensorType>& types) {
    const Shape shape = types[0].shape();
    const Tensor& data = context.input(0);
    context.outputs[0] = gatherView(data, {shape, broadcastStrides(data.shape(), shape), 0}, shape);
    return {};
}

Status lowerExpand(LowerContext& context) {
    context.finish(0, loops::compute("expand", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        return loops::load(context.inputs[0], broadcastIndices(context.inputShape(0), context.outputShape(), i));
    }));
    return {};
}

Status inferTile(InferContext& in) {
    TS_TRY(requireIndexType(in, 1));
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    if (!in.isConstant(1)) {
        in.outputs[0].dims = Dims(dims.size());
        return {};
    }
    const std::vector<std::int64_t> repeats = in.constant(1).asInts();
    if (repeats.size() != dims.size())
        return in.error("has " + std::to_string(repeats.size()) + " repeats for " + in.type(0).text());
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (repeats[d] < 0)
            return in.error("cannot repeat " + std::to_string(repeats[d]) + " times");
        std::int64_t extent = 0;
        if (dims[d].known() && __builtin_mul_overflow(dims[d].extent, repeats[d], &extent))
            return in.error("its result is too large");
        if (repeats[d] != 1)
            dims[d] = dims[d].known() ? Dim(extent) : Dim();
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalTile(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& data = context.input(0);
    const std::vector<std::int64_t> repeats = context.input(1).asInts();
    const Shape strides = rowMajorStrides(data.shape());
    View view; // every dimension twice: the repeats do not move
    for (std::size_t d = 0; d < repeats.size(); ++d) {
        view.shape.insert(view.shape.end(), {repeats[d], data.shape()[d]});
        view.strides.insert(view.strides.end(), {0, strides[d]});
    }
    context.outputs[0] = gatherView(data, view, types[0].shape());
    return {};
}

Status lowerTile(LowerContext& context) {
    const Shape shape = context.inputShape(0);
    context.finish(0, loops::compute("tile", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        loops::Indices source;
        for (std::size_t d = 0; d < i.size(); ++d) {
            const bool repeated = context.outputShape()[d] != shape[d] && shape[d] != 0;
            source.push_back(repeated ? i[d] % loops::Expr(shape[d]) : i[d]);
        }
        return loops::load(context.inputs[0], source);
    }));
    return {};
}

} // namespace

void registerExpandTile(OperatorList& list) {
    addMovement(list, "Expand", Fusion::injective, 8, {2, 2}, inferExpand, evalExpand, lowerExpand);
    addMovement(list, "Tile", Fusion::injective, 6, {2, 2}, inferTile, evalTile, lowerTile);
}

} // namespace tunesmith::ops
