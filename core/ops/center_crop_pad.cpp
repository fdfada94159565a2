// SPDX-License-Identifier: GPL-3.0-or-later
// CenterCropPad: axes are cropped or padded with zeros to given extents, as much in front as behind.
#include "core/ops/lowering.h"
#include "core/ops/movement.h"
#include "core/ops/rules.h"

namespace tunesmith::ops {
namespace {

Result<std::vector<std::size_t>> namedAxes(const OpInputs& in, std::size_t rank) {
    std::vector<std::int64_t> axes = in.node.intsAttr("axes");
    for (std::size_t d = 0; !in.node.has("axes") && d < rank; ++d)
        axes.push_back(static_cast<std::int64_t>(d));
    return frontAxes(in, axes, rank);
}

Status inferCenter(InferContext& in) {
    TS_TRY(requireIndexType(in, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (!in.type(0).dims)
        return {};
    Dims dims = *in.type(0).dims;
    TS_ASSIGN(const std::vector<std::size_t> axes, namedAxes(in, dims.size()));
    std::vector<std::int64_t> wanted;
    if (in.isConstant(1)) {
        wanted = in.constant(1).asInts();
        if (in.constant(1).rank() != 1 || wanted.size() != axes.size())
            return in.error("has " + std::to_string(wanted.size()) + " extents for " + std::to_string(axes.size()) +
                            " axes");
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (in.isConstant(1) && wanted[i] < 0)
            return in.error("an extent is " + std::to_string(wanted[i]));
        dims[axes[i]] = in.isConstant(1) ? Dim(wanted[i]) : Dim();
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

// Output index - shift = input index. Halves are rounded down, both when cropping and when padding.
std::int64_t shiftOf(std::int64_t from, std::int64_t to) {
    return to >= from ? (to - from) / 2 : -((from - to) / 2);
}

Status evalCenter(EvalContext& context, const std::vector<TensorType>& types) {
    const Tensor& data = context.input(0);
    const Shape to = types[0].shape();
    IndexMaps maps(to.size());
    for (std::size_t d = 0; d < to.size(); ++d)
        for (std::int64_t i = 0; i < to[d]; ++i) {
            const std::int64_t at = i - shiftOf(data.shape()[d], to[d]);
            maps[d].push_back(at >= 0 && at < data.shape()[d] ? at : -1);
        }
    context.outputs[0] = gatherMapped(data, maps, {});
    return {};
}

Status lowerCenter(LowerContext& context) {
    const Shape from = context.inputShape(0), to = context.outputShape();
    context.finish(0, loops::compute("center_crop_pad", context.outputType(), to, [&](const loops::Indices& i) {
                       if (elementCount(from) == 0)
                           return zeroOf(context.outputType());
                       loops::Indices source;
                       loops::Expr inside;
                       for (std::size_t d = 0; d < to.size(); ++d) {
                           const std::int64_t shift = shiftOf(from[d], to[d]);
                           source.push_back(i[d] - loops::Expr(shift));
                           if (to[d] <= from[d])
                               continue;
                           const loops::Expr within = i[d] >= loops::Expr(shift) && i[d] < loops::Expr(shift + from[d]);
                           inside = inside.valid() ? inside && within : within;
                       }
                       const loops::Expr value = loops::load(context.inputs[0], source);
                       return inside.valid() ? loops::select(inside, value, zeroOf(context.outputType())) : value;
                   }));
    return {};
}

} // namespace

void registerCenterCropPad(OperatorList& list) {
    addMovement(list, "CenterCropPad", Fusion::injective, 18, {2, 2}, inferCenter, evalCenter, lowerCenter,
                [](const OpInputs& in) { return requireConstant(in, 1, "the extents"); });
}

} // namespace tunesmith::ops
