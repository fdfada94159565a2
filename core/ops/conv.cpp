// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/convolution.h"
#include "core/ops/rules.h"

// Conv: x [N, C, spatial...], w [M, C/group, kernel...], optional bias [M]. Any number of spatial dimensions.
namespace tunesmith::ops {
namespace {

using namespace loops;

Status inferConv(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    TS_TRY(requireSameType(in, 0, 1));
    in.outputs[0] = TensorType(in.type(0).dtype);
    if (in.has(2))
        TS_TRY(requireSameType(in, 0, 2));
    TS_ASSIGN(in.outputs[0].dims, convDims(in, {0, 1, 2}));
    return {};
}

template <class T> void convolve(EvalContext& context, const WindowGeometry& geometry, const ConvSizes& sizes) {
    T* const y = context.outputs[0].mutableData<T>().data();
    const std::int64_t channels = sizes.group * sizes.outPerGroup;
    for (std::int64_t plane = 0; context.has(2) && plane < sizes.batch * channels; ++plane)
        std::fill_n(y + plane * sizes.outPositions, sizes.outPositions,
                    context.input(2).data<T>()[static_cast<std::size_t>(plane % channels)]);
    convolve(geometry, sizes, context.input(0).data<T>().data(), context.input(1).data<T>().data(), y);
}

Status evalConv(EvalContext& context) {
    const Shape &x = context.input(0).shape(), &w = context.input(1).shape();
    TS_ASSIGN(const WindowGeometry geometry, convGeometry(context.node, x, w));
    const ConvSizes sizes(geometry, x, w, context.node.intAttr("group", 1));
    visitFloat(context.outputs[0].type(), [&](auto tag) { convolve<decltype(tag)>(context, geometry, sizes); });
    return {};
}

Status lowerConv(LowerContext& context) {
    TS_ASSIGN(const WindowGeometry geometry, convGeometry(context.node, context.inputShape(0), context.inputShape(1)));
    const ConvSizes sizes(geometry, context.inputShape(0), context.inputShape(1), context.node.intAttr("group", 1));
    const auto from = [&](std::size_t input) {
        return [&context, input](const Indices& i) { return read(context.inputs[input], i); };
    };
    Stage stage = convStage(context, geometry, sizes, computeType(context.outputType()), from(0), from(1));
    if (!context.has(2)) {
        finishReduction(context, std::move(stage));
        return {};
    }
    const TensorRef sum = context.add(std::move(stage));
    lowerElementwise(context, "bias", [&](const Indices& i) { return load(sum, i) + read(context.inputs[2], {i[1]}); });
    return {};
}

} // namespace

void registerConv(OperatorList& list) {
    addOperator(list, "Conv", Fusion::anchor, 1, {2, 3}, inferConv, evalConv, lowerConv);
}

} // namespace tunesmith::ops
