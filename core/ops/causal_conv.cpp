// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/ops/contrib/contrib.h"

// CausalConvWithState: a convolution of each channel along time that looks back only. What it looks back to before the
// first step is the state, which is zero where none is given; the last inputs are the next state. In com.microsoft taps may lie
// `dilation` steps apart, and x and state may be [batch, time, channels] (channels_last).
namespace tunesmith::ops {
namespace {

enum CausalConvInput : std::size_t { kCausalInput, kCausalKernel, kCausalBias, kCausalState };

bool isSilu(const Node& node) { return node.stringAttr("activation", "none") != "none"; }

bool isChannelsLast(const Node& node) { return node.intAttr("channels_last", 0) != 0; }
std::int64_t dilationOf(const Node& node) { return node.intAttr("dilation", 1); }
std::size_t channelAxis(const Node& node) { return isChannelsLast(node) ? 2 : 1; }
constexpr std::int64_t kSwapped[] = {0, 2, 1}; // channels and time

// Steps that the state holds.
std::int64_t keptSteps(const Node& node, std::int64_t size) { return (size - 1) * dilationOf(node); }

Status checkCausal(const OpInputs& in) {
    constexpr std::int64_t kMostApart = 1 << 20;
    if (in.node.intAttr("ndim", 1) != 1 || in.node.intAttr("state_window", 0) != 0)
        return in.unsupported("only ndim = 1 and state_window = 0 are supported");
    if (dilationOf(in.node) < 1 || dilationOf(in.node) > kMostApart)
        return in.error("dilation cannot be " + std::to_string(dilationOf(in.node)));
    const std::string activation = in.node.stringAttr("activation", "none");
    if (activation != "none" && activation != "silu" && activation != "swish")
        return in.error("activation must be none, silu or swish, not '" + activation + "'");
    for (std::size_t i = 0; i < in.count(); ++i) {
        if (!in.has(i))
            continue;
        TS_TRY(requireFloat(in, i));
        TS_TRY(requireSameType(in, kCausalInput, i));
        if (in.type(i).dims && in.type(i).dims->size() != (i == kCausalBias ? 1 : 3))
            return in.error("input " + in.type(i).text() + " must have " + (i == kCausalBias ? "1 dimension" : "3 dimensions"));
    }
    return {};
}

Status inferCausalConv(InferContext& in) {
    TS_TRY(checkCausal(in));
    in.outputs[0] = in.type(kCausalInput);
    if (in.outputs.size() > 1)
        in.outputs[1] = TensorType(in.type(kCausalInput).dtype);
    if (!in.type(kCausalInput).dims || !in.type(kCausalKernel).dims)
        return {};
    const Dims &x = *in.type(kCausalInput).dims, &w = *in.type(kCausalKernel).dims;
    const Dim channels = x[channelAxis(in.node)];
    if (!mergeEqual(w[0], channels) || !mergeEqual(w[1], Dim(1)) || (w[2].known() && w[2].extent < 1))
        return pairError(in, kCausalInput, kCausalKernel, "do not fit: the weights must be [channels, 1, size]");
    if (in.has(kCausalBias) && in.type(kCausalBias).dims && !mergeEqual(in.type(kCausalBias).dims->front(), channels))
        return pairError(in, kCausalInput, kCausalBias, "do not fit: one number for each channel is needed");
    Dims state{x[0], channels, w[2].known() ? Dim(keptSteps(in.node, w[2].extent)) : Dim()};
    if (isChannelsLast(in.node))
        std::swap(state[1], state[2]);
    for (std::size_t d = 0; in.has(kCausalState) && in.type(kCausalState).dims && d < 3; ++d)
        if (!mergeEqual((*in.type(kCausalState).dims)[d], state[d]))
            return pairError(in, kCausalInput, kCausalState, "do not fit: the state must be [batch, channels, " + dimText(state[3 - channelAxis(in.node)]) + "]");
    if (in.outputs.size() > 1)
        in.outputs[1].dims = state;
    return {};
}

// State and inputs of one channel, one after the other.
std::vector<double> lineOf(const Tensor& x, const Tensor& state, std::int64_t line, std::int64_t kept) {
    const std::int64_t length = x.shape()[2];
    std::vector<double> values(static_cast<std::size_t>(kept + length));
    for (std::int64_t i = 0; i < kept && !state.absent(); ++i)
        values[static_cast<std::size_t>(i)] = state.asDouble(line * kept + i);
    for (std::int64_t i = 0; i < length; ++i)
        values[static_cast<std::size_t>(kept + i)] = x.asDouble(line * length + i);
    return values;
}

Status evalCausalConv(EvalContext& context) {
    const auto lines = [&](std::size_t input) {
        return isChannelsLast(context.node) ? permuted(context.input(input), {std::begin(kSwapped), std::end(kSwapped)}) : context.input(input);
    };
    const Tensor x = lines(kCausalInput), state = context.has(kCausalState) ? lines(kCausalState) : Tensor();
    const Tensor& w = context.input(kCausalKernel);
    const std::int64_t channels = x.shape()[1], length = x.shape()[2], size = w.shape()[2], apart = dilationOf(context.node);
    const std::int64_t kept = keptSteps(context.node, size);
    Tensor y = Tensor::zeros(DType::f64, x.shape());
    Tensor next = Tensor::zeros(DType::f64, {x.shape()[0], channels, kept});
    for (std::int64_t line = 0; line < x.shape()[0] * channels; ++line) {
        const std::int64_t channel = line % channels;
        const std::vector<double> values = lineOf(x, state, line, kept);
        for (std::int64_t t = 0; t < length; ++t) {
            double sum = context.has(kCausalBias) ? context.input(kCausalBias).asDouble(channel) : 0;
            for (std::int64_t i = 0; i < size; ++i)
                sum += values[static_cast<std::size_t>(t + i * apart)] * w.asDouble(channel * size + i);
            y.mutableData<double>()[static_cast<std::size_t>(line * length + t)] = isSilu(context.node) ? sum / (1 + std::exp(-sum)) : sum;
        }
        std::copy(values.begin() + length, values.end(), next.mutableData<double>().begin() + line * kept);
    }
    const auto asGiven = [&](const Tensor& made) {
        return (isChannelsLast(context.node) ? permuted(made, {std::begin(kSwapped), std::end(kSwapped)}) : made).cast(x.type());
    };
    context.outputs[0] = asGiven(y);
    if (context.wanted(1))
        context.outputs[1] = asGiven(next);
    return {};
}

Status writeCausalConv(ExpandContext& context) {
    if (!context.type(kCausalInput).isStatic() || !context.type(kCausalKernel).isStatic() || elementCount(context.type(kCausalInput).shape()) == 0)
        return context.unsupported("the shapes of its inputs are not known, or they are empty");
    Shape x = context.type(kCausalInput).shape();
    if (isChannelsLast(context.node))
        std::swap(x[1], x[2]);
    const auto swapped = [&](ValueId value) {
        return isChannelsLast(context.node) ? context.transpose(value, {std::begin(kSwapped), std::end(kSwapped)}) : value;
    };
    const std::int64_t kept = keptSteps(context.node, context.type(kCausalKernel).shape()[2]);
    const DType type = context.type(kCausalInput).dtype;
    const auto zeros = [&] { return context.addConstant(Tensor::zeros(type, {x[0], x[1], kept})); };
    const ValueId state = context.has(kCausalState) ? swapped(context.node.inputs[kCausalState]) : zeros();
    const ValueId own = swapped(context.node.inputs[kCausalInput]);
    const ValueId all = kept > 0 ? context.concat({state, own}, 2) : own;
    std::vector<ValueId> inputs{all, context.node.inputs[kCausalKernel]};
    if (context.has(kCausalBias))
        inputs.push_back(context.node.inputs[kCausalBias]);
    const ValueId sum = context.add("Conv", inputs, {{"group", x[1]}, {"dilations", std::vector<std::int64_t>{dilationOf(context.node)}}});
    context.outputs[0] = swapped(isSilu(context.node) ? context.add("Mul", sum, context.add("Sigmoid", {sum})) : sum);
    if (context.wanted(1))
        context.outputs[1] = swapped(kept > 0 ? context.slice(all, 2, x[2], x[2] + kept) : zeros());
    return {};
}

} // namespace

void registerCausalConv(OperatorList& list) {
    addOperator(list, "CausalConvWithState", Fusion::opaque, 27, {2, 4, 2}, inferCausalConv, evalCausalConv);
    list.back().expand = writeCausalConv;
    addExpanded(list, "CausalConvWithState", {2, 4, 2}, inferCausalConv, evalCausalConv, writeCausalConv);
}

} // namespace tunesmith::ops
