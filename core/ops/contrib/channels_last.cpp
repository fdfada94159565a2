// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/contrib/channels_last.h"

#include "core/ops/quantize.h"

// QLinearConv of com.microsoft, whose images have their channels last if `channels_last` says so, and
// NhwcMaxPool, whose images always have. Weights are as ONNX has them.
namespace tunesmith::ops {

Status inferChannelsLast(InferContext& in, const std::string& onnx) {
    if (!in.type(0).dims)
        return inferAs(in, onnx, in.count());
    if (in.type(0).dims->size() < 3)
        return in.error("input 0 is " + in.type(0).text() + " but must have batch, positions and channels");
    KnownInputs known(in, in.count());
    known.types[0].dims = channelsSecond(*known.types[0].dims);
    InferContext second(in.node, in.opset, std::move(known.types), std::move(known.constants));
    second.outputs = in.outputs;
    TS_TRY(inferAs(second, onnx, second.count()));
    in.outputs[0] = second.outputs[0];
    if (in.outputs[0].dims)
        in.outputs[0].dims = channelsBehind(*in.outputs[0].dims);
    return {};
}

Status evalChannelsLast(EvalContext& context, const std::string& onnx) {
    const std::vector<std::int64_t> axes = countedAxes(context.input(0).rank());
    std::vector<Tensor> inputs = context.inputs;
    inputs[0] = permuted(inputs[0], channelsSecond(axes));
    EvalContext second(context.node, context.opset, inputs);
    TS_TRY(evalAs(second, onnx, inputs.size()));
    context.outputs[0] = permuted(second.outputs[0], channelsBehind(axes));
    return {};
}

ValueId addChannelsLast(ExpandContext& context, const std::string& onnx,
                        const std::map<std::string, Attribute>& attributes) {
    const std::vector<std::int64_t> axes = countedAxes(context.type(0).dims->size());
    std::vector<ValueId> inputs = context.node.inputs;
    inputs[0] = context.transpose(inputs[0], channelsSecond(axes));
    return context.transpose(context.add(onnx, inputs, attributes), channelsBehind(axes));
}

namespace {

Status inferEitherConv(InferContext& in) {
    return channelsLast(in.node) ? inferChannelsLast(in, "QLinearConv")
                                 : inferAs(in, "QLinearConv", in.count());
}

Status evalEitherConv(EvalContext& context) {
    return channelsLast(context.node) ? evalChannelsLast(context, "QLinearConv")
                                      : evalAs(context, "QLinearConv", context.inputs.size());
}

Status expandEitherConv(ExpandContext& context) {
    const auto attributes = attributesWithout(context.node, {"channels_last"});
    context.outputs[0] = channelsLast(context.node)
                             ? addChannelsLast(context, "QLinearConv", attributes)
                             : context.add("QLinearConv", context.node.inputs, attributes);
    return {};
}

Status inferNhwcMaxPool(InferContext& in) {
    TS_TRY(requireType(in, 0, isByte, "int8 or uint8"));
    return inferChannelsLast(in, "MaxPool");
}

Status expandNhwcMaxPool(ExpandContext& context) {
    context.outputs[0] = addChannelsLast(context, "MaxPool", context.node.attributes);
    return {};
}

} // namespace

void registerContribChannelsLast(OperatorList& list) {
    addExpanded(list, "QLinearConv", {8, 9}, inferEitherConv, evalEitherConv, expandEitherConv);
    addExpanded(
        list, "NhwcMaxPool", {1, 1}, inferNhwcMaxPool,
        [](EvalContext& context) { return evalChannelsLast(context, "MaxPool"); }, expandNhwcMaxPool);
}

} // namespace tunesmith::ops
