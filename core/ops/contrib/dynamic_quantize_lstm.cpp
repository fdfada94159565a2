// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <limits>

#include "core/ops/contrib/qlinear.h"
#include "core/ops/recurrent.h"

// DynamicQuantizeLSTM: an LSTM whose weights are bytes. The inputs of all steps are quantised together and
// the states of all sequences before each step, as DynamicQuantizeLinear does. Weights are transposed:
// [directions, input, 4 * hidden]. Scales and zero points are [directions] or [directions, 4 * hidden].
// Behind the step after its end a sequence counts as zeros where states are quantised.
namespace tunesmith::ops {
namespace {

using In = RecurrentInputs;

struct QuantisedWeights {
    std::size_t value, scale, zero;
};
constexpr QuantisedWeights kLstmW{In::weights, 8, 9}, kLstmR{In::recurrence, 10, 11};
constexpr std::size_t kLstmInputs = 8; // those that LSTM has, too
constexpr std::int64_t kMostHidden = std::numeric_limits<std::int32_t>::max() / 4;

bool isReal(DType type) {
    return type == DType::f32;
}

Status checkWeights(const OpInputs& in, const QuantisedWeights& w, const Dim& rows, const Dim& columns) {
    TS_TRY(requireInputs(in, {w.value, w.scale, w.zero}));
    TS_TRY(requireType(in, w.value, isByte, "int8 or uint8"));
    TS_TRY(requireType(in, w.scale, isReal, "float32"));
    TS_TRY(requireSameType(in, w.value, w.zero));
    const Dim directions(in.node.stringAttr("direction", "forward") == "bidirectional" ? 2 : 1);
    TS_TRY(
        requireDims(in, w.value, {directions, rows, columns}, "directions, rows and the columns of 4 gates"));
    for (const std::size_t input : {w.scale, w.zero}) {
        const auto& dims = in.type(input).dims;
        TS_TRY(requireDims(in, input,
                           dims && dims->size() == 1 ? Dims{directions} : Dims{directions, columns},
                           "one for each direction, or for each of its columns"));
    }
    return {};
}

Dim hiddenOf(const OpInputs& in) {
    const std::int64_t stated = in.node.intAttr("hidden_size", 0);
    return stated > 0 ? Dim(stated) : dimOf(in, In::recurrence, 1).value_or(Dim());
}

// Infers the layer as LSTM does.
Status inferAsLstm(InferContext& in) {
    Node node = in.node;
    node.inputs.resize(std::min(node.inputs.size(), kLstmInputs));
    KnownInputs known(in, node.inputs.size());
    for (const QuantisedWeights& w : {kLstmW, kLstmR}) {
        TensorType& type = known.types[w.value];
        type.dtype = DType::f32;
        if (type.dims)
            std::swap((*type.dims)[1], (*type.dims)[2]);
        known.constants[w.value] = {};
    }
    InferContext lstm(node, in.opset, std::move(known.types), std::move(known.constants));
    lstm.outputs = in.outputs;
    TS_TRY(inferLstm(lstm));
    in.outputs = std::move(lstm.outputs);
    return {};
}

Status inferDynamicLstm(InferContext& in) {
    TS_TRY(requireInputs(in, {In::x, In::weights, In::recurrence}));
    TS_TRY(requireType(in, In::x, isReal, "float32"));
    if (in.node.intAttr("layout", 0) != 0)
        return in.unsupported("layout must be 0: time before batch");
    const Dim hidden = hiddenOf(in);
    if (hidden.extent > kMostHidden)
        return in.error("hidden_size is " + dimText(hidden) + " but must be at most " +
                        std::to_string(kMostHidden));
    const Dim columns = hidden.known() ? Dim(4 * hidden.extent) : Dim();
    TS_TRY(checkWeights(in, kLstmW, dimOf(in, In::x, 2).value_or(Dim()), columns));
    TS_TRY(checkWeights(in, kLstmR, hidden, columns));
    return inferAsLstm(in);
}

// Weights as LSTM has them, float64.
Tensor realWeights(const EvalContext& context, const QuantisedWeights& w) {
    const Tensor &stored = context.input(w.value), &scale = context.input(w.scale),
                 &zero = context.input(w.zero);
    const std::int64_t rows = stored.shape()[1], columns = stored.shape()[2];
    Tensor real = Tensor::zeros(DType::f64, stored.shape());
    for (std::int64_t i = 0; i < stored.count(); ++i) {
        const std::int64_t direction = i / (rows * columns), column = direction * columns + i % columns;
        const auto parameter = [&](const Tensor& x) {
            return x.asDouble(x.rank() == 1 ? direction : column);
        };
        real.mutableData<double>()[i] = (stored.asDouble(i) - parameter(zero)) * parameter(scale);
    }
    return permuted(real, {0, 2, 1});
}

// Rounds floats as their bytes do.
Tensor throughBytes(const Tensor& x) {
    const CentredBytes made = dynamicBytes(x);
    Tensor real = made.values.cast(DType::f64);
    for (double& value : real.mutableData<double>())
        value *= static_cast<double>(made.scale);
    return real;
}

// Steps that no sequence has do not count.
Tensor inputThroughBytes(const EvalContext& context) {
    const Tensor& x = context.input(In::x);
    std::int64_t steps = x.shape()[0];
    if (context.has(In::lengths) && x.shape()[1] > 0)
        steps = std::ranges::max(context.input(In::lengths).asInts());
    const std::int64_t counted = x.shape()[0] == 0 ? 0 : steps * (x.count() / x.shape()[0]);
    Tensor begin = Tensor::zeros(DType::f32, {counted}), all = Tensor::zeros(DType::f64, x.shape());
    std::copy_n(x.data<float>().begin(), counted, begin.mutableData<float>().begin());
    std::ranges::copy(throughBytes(begin).data<double>(), all.mutableData<double>().begin());
    return all;
}

RecurrentState<double> quantisedCell(const RecurrentLayer<double>& layer) {
    Tensor state = Tensor::zeros(DType::f32, {layer.batch, layer.hidden});
    for (std::int64_t i = 0; i < state.count(); ++i)
        if (!layer.idle[i / layer.hidden])
            state.mutableData<float>()[i] = static_cast<float>(layer.h[i]);
    RecurrentLayer<double> quantised = layer;
    std::ranges::copy(throughBytes(state).data<double>(), quantised.h.begin());
    return lstmCell(quantised);
}

Status evalDynamicLstm(EvalContext& context) {
    Node node = context.node;
    node.inputs.resize(kLstmInputs);
    std::vector<Tensor> inputs(context.inputs.begin(), context.inputs.begin() + kLstmInputs);
    for (std::size_t i = 0; i < kLstmInputs; ++i)
        if (context.has(i) && i != In::lengths)
            inputs[i] = i == In::x          ? inputThroughBytes(context)
                        : i == kLstmW.value ? realWeights(context, kLstmW)
                        : i == kLstmR.value ? realWeights(context, kLstmR)
                                            : inputs[i].cast(DType::f64);
    EvalContext lstm(node, context.opset, inputs);
    for (std::size_t i = 0; i < context.outputs.size(); ++i)
        if (context.wanted(i))
            lstm.outputs[i] = Tensor::zeros(DType::f64, context.outputs[i].shape());
    TS_TRY(evalLstm(lstm, quantisedCell));
    for (std::size_t i = 0; i < context.outputs.size(); ++i)
        if (context.wanted(i))
            context.outputs[i] = lstm.outputs[i].cast(DType::f32);
    return {};
}

// Products of what becomes bytes once, however many gates multiply it.
class ByteProducts {
public:
    ByteProducts(ExpandContext& context, const QuantisedWeights& w, std::int64_t direction)
        : c_(context), hidden_(context.type(w.value).shape()[2] / 4), matrix_(own(w.value, direction)),
          scale_(own(w.scale, direction)), zero_(own(w.zero, direction)),
          manyScales_(context.type(w.scale).shape().size() > 1),
          manyZeros_(context.type(w.zero).shape().size() > 1) {
        for (std::int64_t gate = 0; gate < 4; ++gate)
            gates_.push_back({columns(matrix_, 1, gate), manyScales_ ? columns(scale_, 0, gate) : scale_,
                              manyZeros_ ? columns(zero_, 0, gate) : zero_});
    }

    ValueId product(std::int64_t gate, ValueId left) {
        if (left != left_) {
            bytes_ = c_.addMany("DynamicQuantizeLinear", {left}, {}, 3);
            left_ = left;
        }
        const Gate& g = gates_[static_cast<std::size_t>(gate)];
        const ValueId sum = c_.add("MatMulInteger", {bytes_[0], g.matrix, bytes_[2], g.zero});
        return c_.add("Mul", c_.cast(sum, DType::f32), c_.add("Mul", bytes_[1], g.scale));
    }

private:
    struct Gate {
        ValueId matrix, scale, zero;
    };
    ValueId own(std::size_t input, std::int64_t direction) {
        return c_.pick(c_.node.inputs[input], direction);
    }
    ValueId columns(ValueId value, std::int64_t axis, std::int64_t gate) {
        return c_.slice(value, axis, gate * hidden_, (gate + 1) * hidden_);
    }

    ExpandContext& c_;
    std::int64_t hidden_;
    ValueId matrix_, scale_, zero_, left_;
    bool manyScales_, manyZeros_;
    std::vector<Gate> gates_;
    std::vector<ValueId> bytes_; // of left_
};

Status expandDynamicLstm(ExpandContext& context) {
    return expandRecurrent(context, lstmKind(), [&](std::int64_t direction, ValueId rows) {
        const auto ofInput = std::make_shared<ByteProducts>(context, kLstmW, direction);
        const auto ofState = std::make_shared<ByteProducts>(context, kLstmR, direction);
        return RecurrentProducts{
            [ofInput, rows](std::int64_t gate) { return ofInput->product(gate, rows); },
            [ofState](std::int64_t gate, ValueId state) { return ofState->product(gate, state); }};
    });
}

} // namespace

void registerContribDynamicQuantizeLstm(OperatorList& list) {
    addExpanded(list, "DynamicQuantizeLSTM", {3, 12, 3}, inferDynamicLstm, evalDynamicLstm,
                expandDynamicLstm);
}

} // namespace tunesmith::ops
