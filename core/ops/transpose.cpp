// SPDX-License-Identifier: GPL-3.0-or-later
// Transpose, DepthToSpace, SpaceToDepth: dimensions in another order.
#include <algorithm>
#include <numeric>

#include "core/ops/movement.h"

namespace tunesmith::ops {
namespace {

using Order = std::vector<std::size_t>;

Order orderOf(const Node& node, std::size_t rank) {
    const auto perm = node.intsAttr("perm");
    if (node.has("perm"))
        return Order(perm.begin(), perm.end());
    Order order(rank);
    std::iota(order.rbegin(), order.rend(), std::size_t(0));
    return order;
}

View permuted(const Shape& shape, const Order& order) {
    const Shape strides = rowMajorStrides(shape);
    View view;
    for (const std::size_t axis : order) {
        view.shape.push_back(shape[axis]);
        view.strides.push_back(strides[axis]);
    }
    return view;
}

Status inferTranspose(InferContext& in) {
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.type(0).dims)
        return {};
    const Dims& dims = *in.type(0).dims;
    const Order order = orderOf(in.node, dims.size());
    Order sorted = order;
    std::sort(sorted.begin(), sorted.end());
    Order identity(dims.size());
    std::iota(identity.begin(), identity.end(), std::size_t(0));
    if (sorted != identity)
        return in.error("perm is no order of the dimensions of " + in.type(0).text());
    Dims result;
    for (const std::size_t axis : order)
        result.push_back(dims[axis]);
    in.outputs[0].dims = std::move(result);
    return {};
}

Status evalTranspose(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& data = context.input(0);
    context.outputs[0] = gatherView(data, permuted(data.shape(), orderOf(context.node, data.rank())), types[0].shape());
    return {};
}

Status lowerTranspose(LowerContext& context) {
    const Order order = orderOf(context.node, context.outputShape().size());
    context.finish(0, loops::compute("transpose", context.outputType(), context.outputShape(), [&](const loops::Indices& i) {
        loops::Indices source(i.size());
        for (std::size_t d = 0; d < i.size(); ++d)
            source[order[d]] = i[d];
        return loops::load(context.inputs[0], source);
    }));
    return {};
}

std::int64_t blockOf(const Node& node) { return node.intAttr("blocksize", 0); }

Status checkBlock(const InferContext& in) {
    if (blockOf(in.node) < 1 || blockOf(in.node) > 1 << 20)
        return in.error("blocksize must be a positive number");
    if (in.type(0).dims && in.type(0).dims->size() != 4)
        return in.error("wants 4 dimensions, not " + in.type(0).text());
    return {};
}

// dim * factor / divisor; an Error when that is no whole number.
Result<Dim> scaled(const InferContext& in, std::size_t axis, std::int64_t factor, std::int64_t divisor) {
    const Dim& dim = (*in.type(0).dims)[axis];
    if (!dim.known())
        return factor == 1 && divisor == 1 ? dim : Dim();
    if (dim.extent % divisor != 0)
        return in.error("dimension " + std::to_string(axis) + " of " + in.type(0).text() + " is no multiple of " +
                        std::to_string(divisor));
    return Dim(dim.extent / divisor * factor);
}

Status inferBlocks(InferContext& in, std::int64_t channelFactor, std::int64_t channelDivisor, std::int64_t factor,
                   std::int64_t divisor) {
    in.outputs[0].dtype = in.type(0).dtype;
    if (!in.type(0).dims)
        return {};
    TS_ASSIGN(const Dim channels, scaled(in, 1, channelFactor, channelDivisor));
    TS_ASSIGN(const Dim height, scaled(in, 2, factor, divisor));
    TS_ASSIGN(const Dim width, scaled(in, 3, factor, divisor));
    in.outputs[0].dims = Dims{(*in.type(0).dims)[0], channels, height, width};
    return {};
}

Status inferDepthToSpace(InferContext& in) {
    TS_TRY(checkBlock(in));
    const std::string mode = in.node.stringAttr("mode", "DCR");
    if (mode != "DCR" && mode != "CRD")
        return in.error("mode '" + mode + "' is neither DCR nor CRD");
    const std::int64_t block = blockOf(in.node);
    return inferBlocks(in, 1, block * block, block, 1);
}

Status inferSpaceToDepth(InferContext& in) {
    TS_TRY(checkBlock(in));
    const std::int64_t block = blockOf(in.node);
    return inferBlocks(in, block * block, 1, 1, block);
}

bool columnFirst(const Node& node) { return node.stringAttr("mode", "DCR") == "CRD"; }

Status evalDepthToSpace(EvalContext& context, const std::vector<TensorType>& types) {
    const Shape& s = context.input(0).shape();
    const std::int64_t b = blockOf(context.node), c = s[1] / (b * b);
    const bool crd = columnFirst(context.node);
    const Shape split = crd ? Shape{s[0], c, b, b, s[2], s[3]} : Shape{s[0], b, b, c, s[2], s[3]};
    const Order order = crd ? Order{0, 1, 4, 2, 5, 3} : Order{0, 3, 4, 1, 5, 2};
    context.outputs[0] = gatherView(context.input(0), permuted(split, order), types[0].shape());
    return {};
}

Status evalSpaceToDepth(EvalContext& context, const std::vector<TensorType>& types) {
    const Shape& s = context.input(0).shape();
    const std::int64_t b = blockOf(context.node);
    const Shape split{s[0], s[1], s[2] / b, b, s[3] / b, b};
    context.outputs[0] = gatherView(context.input(0), permuted(split, {0, 3, 5, 1, 2, 4}), types[0].shape());
    return {};
}

Status lowerDepthToSpace(LowerContext& context) {
    const std::int64_t b = blockOf(context.node), c = context.outputShape()[1];
    context.finish(0, loops::compute("depth_to_space", context.outputType(), context.outputShape(),
                                     [&](const loops::Indices& i) {
        const loops::Expr block = (i[2] % loops::Expr(b)) * loops::Expr(b) + i[3] % loops::Expr(b);
        const loops::Expr channel =
            columnFirst(context.node) ? i[1] * loops::Expr(b * b) + block : block * loops::Expr(c) + i[1];
        return loops::load(context.inputs[0], {i[0], channel, i[2] / loops::Expr(b), i[3] / loops::Expr(b)});
    }));
    return {};
}

Status lowerSpaceToDepth(LowerContext& context) {
    const std::int64_t b = blockOf(context.node), c = context.inputShape(0)[1];
    context.finish(0, loops::compute("space_to_depth", context.outputType(), context.outputShape(),
                                     [&](const loops::Indices& i) {
        if (c == 0)
            return zeroOf(context.outputType());
        const loops::Expr block = i[1] / loops::Expr(c);
        return loops::load(context.inputs[0], {i[0], i[1] % loops::Expr(c), i[2] * loops::Expr(b) + block / loops::Expr(b),
                                               i[3] * loops::Expr(b) + block % loops::Expr(b)});
    }));
    return {};
}

} // namespace

void registerTranspose(OperatorList& list) {
    addMovement(list, "Transpose", Fusion::injective, 1, {1, 1}, inferTranspose, evalTranspose, lowerTranspose);
    addMovement(list, "DepthToSpace", Fusion::injective, 1, {1, 1}, inferDepthToSpace, evalDepthToSpace, lowerDepthToSpace);
    addMovement(list, "SpaceToDepth", Fusion::injective, 1, {1, 1}, inferSpaceToDepth, evalSpaceToDepth, lowerSpaceToDepth);
}

} // namespace tunesmith::ops
