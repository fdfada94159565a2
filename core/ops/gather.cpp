// SPDX-License-Identifier: GPL-3.0-or-later
// Gather, GatherElements, GatherND: elements picked by index tensors. Negative indices count from the end.
#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

// An index counted from the front, or an Error naming the node.
Result<std::int64_t> frontIndex(const EvalContext& context, std::int64_t index, std::int64_t extent) {
    if (index < -extent || index >= extent)
        return context.error("index " + std::to_string(index) + " is out of range for " + std::to_string(extent) + " elements");
    return index < 0 ? index + extent : index;
}

Status inferGather(InferContext& in) {
    TS_TRY(requireIndexType(in, 1));
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.type(0).dims)
        return {};
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), in.type(0).dims->size()));
    if (!in.type(1).dims)
        return {};
    Dims dims = *in.type(0).dims;
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), in.type(1).dims->begin(), in.type(1).dims->end());
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalGather(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor &data = context.input(0), &indices = context.input(1);
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), data.rank());
    const std::int64_t outer = elementCount(std::span(data.shape()).first(axis));
    const std::size_t run = static_cast<std::size_t>(elementCount(std::span(data.shape()).subspan(axis + 1))) *
                            byteSize(data.type());
    Tensor result = Tensor::zeros(data.type(), types[0].shape());
    const std::byte* const source = data.bytes().data();
    std::byte* target = result.mutableBytes().data();
    std::vector<std::int64_t> rows = indices.asInts();
    for (std::int64_t& row : rows) {
        TS_ASSIGN(row, frontIndex(context, row, data.shape()[axis]));
    }
    for (std::int64_t o = 0; o < outer && run > 0; ++o)
        for (const std::int64_t row : rows) {
            std::copy_n(source + static_cast<std::size_t>(o * data.shape()[axis] + row) * run, run, target);
            target += run;
        }
    context.outputs[0] = std::move(result);
    return {};
}

Status lowerGather(LowerContext& context) {
    const Shape data = context.inputShape(0), indices = context.inputShape(1);
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), data.size());
    context.finish(0, loops::compute("gather", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        if (elementCount(data) == 0)
            return zeroOf(context.outputType());
        const auto first = i.begin() + static_cast<std::ptrdiff_t>(axis);
        const auto last = first + static_cast<std::ptrdiff_t>(indices.size());
        loops::Expr row;
        if (context.isConstant(1) && context.constant(1).count() == 1) {
            const std::int64_t index = context.constant(1).asInt(0);
            row = loops::Expr(index < 0 ? index + data[axis] : index);
        } else
            row = safeIndex(loops::load(context.inputs[1], loops::Indices(first, last)), data[axis]);
        loops::Indices source(i.begin(), first);
        source.push_back(row);
        source.insert(source.end(), last, i.end());
        return loops::load(context.inputs[0], source);
    }));
    return {};
}

Status gatherLowerable(const OpInputs& in) {
    const TensorType& data = in.type(0);
    if (!in.isConstant(1) || !data.isStatic())
        return {};
    const std::int64_t extent = data.shape()[frontAxis(in.node.intAttr("axis", 0), data.dims->size())];
    for (const std::int64_t index : in.constant(1).asInts())
        if (index < -extent || index >= extent)
            return in.error("index " + std::to_string(index) + " is out of range for " + std::to_string(extent) + " elements");
    return {};
}

Status inferGatherElements(InferContext& in) {
    TS_TRY(requireIndexType(in, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    in.outputs[0].dims = in.type(1).dims;
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    const Dims &data = *in.type(0).dims, &indices = *in.type(1).dims;
    if (data.size() != indices.size())
        return pairError(in, 0, 1, "have different ranks");
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), data.size()));
    for (std::size_t d = 0; d < data.size(); ++d)
        if (d != axis && data[d].known() && indices[d].known() && indices[d].extent > data[d].extent)
            return pairError(in, 0, 1, "do not fit: the indices reach further than the data");
    return {};
}

Status evalGatherElements(EvalContext& context, const std::vector<TensorType>&) {
    const Tensor &data = context.input(0), &indices = context.input(1);
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), data.rank());
    const Shape strides = rowMajorStrides(data.shape()), picked = rowMajorStrides(indices.shape());
    std::vector<std::int64_t> offsets = indices.asInts();
    for (std::int64_t n = 0; n < indices.count(); ++n) {
        TS_ASSIGN(const std::int64_t row, frontIndex(context, offsets[n], data.shape()[axis]));
        offsets[n] = 0;
        for (std::size_t d = 0; d < strides.size(); ++d)
            offsets[n] += (d == axis ? row : n / picked[d] % indices.shape()[d]) * strides[d];
    }
    context.outputs[0] = gatherMapped(data.reshaped({data.count()}), {offsets}, {}).reshaped(indices.shape());
    return {};
}

Status lowerGatherElements(LowerContext& context) {
    const Shape data = context.inputShape(0);
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), data.size());
    context.finish(0, loops::compute("gather_elements", context.outputType(), context.outputShape(),
                                     [&](const loops::Indices& i) {
        if (elementCount(data) == 0)
            return zeroOf(context.outputType());
        loops::Indices source = i;
        source[axis] = safeIndex(loops::load(context.inputs[1], i), data[axis]);
        return loops::load(context.inputs[0], source);
    }));
    return {};
}

Status inferGatherNd(InferContext& in) {
    TS_TRY(requireIndexType(in, 1));
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    const Dims &data = *in.type(0).dims, &indices = *in.type(1).dims;
    const std::int64_t batch = in.node.intAttr("batch_dims", 0);
    if (data.empty() || indices.empty() || batch < 0 || batch >= static_cast<std::int64_t>(std::min(data.size(), indices.size())))
        return pairError(in, 0, 1, "do not fit " + std::to_string(batch) + " batch dimensions");
    for (std::int64_t d = 0; d < batch; ++d)
        if (!mergeEqual(data[d], indices[d]))
            return pairError(in, 0, 1, "have different batch dimensions");
    if (!indices.back().known())
        return {};
    const std::int64_t depth = indices.back().extent;
    if (depth < 1 || batch + depth > static_cast<std::int64_t>(data.size()))
        return pairError(in, 0, 1, "do not fit: an index has " + std::to_string(depth) + " numbers");
    Dims dims(indices.begin(), indices.end() - 1);
    dims.insert(dims.end(), data.begin() + batch + depth, data.end());
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalGatherNd(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor &data = context.input(0), &indices = context.input(1);
    const auto batch = static_cast<std::size_t>(context.node.intAttr("batch_dims", 0));
    const auto depth = static_cast<std::size_t>(indices.shape().back());
    const std::int64_t batches = elementCount(std::span(data.shape()).first(batch));
    const std::int64_t run = elementCount(std::span(data.shape()).subspan(batch + depth));
    const std::int64_t tuples = indices.count() / std::max<std::int64_t>(indices.shape().back() * batches, 1);
    const Shape strides = rowMajorStrides(data.shape());
    Tensor result = Tensor::zeros(data.type(), types[0].shape());
    const std::size_t width = byteSize(data.type());
    for (std::int64_t n = 0; n < batches * tuples && run > 0; ++n) {
        std::int64_t offset = n / tuples * (data.count() / batches);
        for (std::size_t k = 0; k < depth; ++k) {
            const std::int64_t index = indices.asInt(n * static_cast<std::int64_t>(depth) + static_cast<std::int64_t>(k));
            TS_ASSIGN(const std::int64_t at, frontIndex(context, index, data.shape()[batch + k]));
            offset += at * strides[batch + k];
        }
        std::copy_n(data.bytes().data() + offset * width, run * width, result.mutableBytes().data() + n * run * width);
    }
    context.outputs[0] = std::move(result);
    return {};
}

Status lowerGatherNd(LowerContext& context) {
    const Shape data = context.inputShape(0), indices = context.inputShape(1);
    const std::int64_t batch = context.node.intAttr("batch_dims", 0), depth = indices.back();
    context.finish(0, loops::compute("gather_nd", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        if (elementCount(data) == 0)
            return zeroOf(context.outputType());
        const auto tuple = i.begin() + static_cast<std::ptrdiff_t>(indices.size()) - 1;
        loops::Indices source(i.begin(), i.begin() + batch);
        for (std::int64_t k = 0; k < depth; ++k) {
            loops::Indices at(i.begin(), tuple);
            at.emplace_back(k);
            source.push_back(safeIndex(loops::load(context.inputs[1], at), data[batch + k]));
        }
        source.insert(source.end(), tuple, i.end());
        return loops::load(context.inputs[0], source);
    }));
    return {};
}

} // namespace

void registerGather(OperatorList& list) {
    addMovement(list, "Gather", Fusion::injective, 1, {2, 2}, inferGather, evalGather, lowerGather, gatherLowerable);
    addMovement(list, "GatherElements", Fusion::injective, 11, {2, 2}, inferGatherElements, evalGatherElements,
                lowerGatherElements);
    addMovement(list, "GatherND", Fusion::injective, 11, {2, 2}, inferGatherNd, evalGatherNd, lowerGatherNd);
}

} // namespace tunesmith::ops
