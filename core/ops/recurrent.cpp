// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/kernel.h"
#include "core/ops/recurrent.h"
#include "core/ops/rules.h"

// LSTM, GRU and RNN. x is [time, batch, input], or [batch, time, input] with layout = 1; weights, biases and states
// have one slice per direction. A sequence that is shorter than the others has zeros in Y behind its end, its last
// state in Y_h and Y_c, and zeros there if it is empty, as in ONNX Runtime.
namespace tunesmith::ops {
namespace {

using Kind = RecurrentKind;
using Attributes = RecurrentAttributes;
constexpr std::size_t kBias = RecurrentInputs::bias, kLengths = RecurrentInputs::lengths, kHidden = RecurrentInputs::hidden,
                      kCell = RecurrentInputs::cell, kPeepholes = RecurrentInputs::peepholes;

// Where inputs disagree with each other or with the attributes, and what the dimensions are.
class Extents {
public:
    explicit Extents(const InferContext& in) : in_(in) {}
    Dim time, batch, input, hidden;

    // Checks input `index`, whose rank must be that of `wanted`, and learns unknown extents; a null entry may be
    // anything.
    Status unify(std::size_t index, const std::vector<Dim*>& wanted) {
        if (!in_.has(index) || !in_.type(index).dims)
            return {};
        const Dims& dims = *in_.type(index).dims;
        bool fits = dims.size() == wanted.size();
        for (std::size_t d = 0; fits && d < dims.size(); ++d) {
            const auto merged = mergeEqual(*wanted[d], dims[d]);
            fits = merged.has_value();
            if (fits)
                *wanted[d] = *merged;
        }
        if (fits)
            return {};
        std::string text;
        for (const Dim* dim : wanted)
            text += (text.empty() ? "" : ",") + dimText(*dim);
        return in_.error("input " + std::to_string(index) + " is " + in_.type(index).text() + " but must be [" + text +
                         "]");
    }

private:
    const InferContext& in_;
};

Status requireTypes(const InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    for (std::size_t i = 1; i < in.count(); ++i)
        if (in.has(i) && i != kLengths)
            TS_TRY(requireSameType(in, 0, i));
    if (in.has(kLengths))
        TS_TRY(requireType(
            in, kLengths, [](DType type) { return type == DType::i32; }, "int32"));
    return {};
}

// hidden_size, or what the weights of the recurrence say.
Status learnHidden(const InferContext& in, const Kind& kind, Dim& hidden) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (in.node.has("hidden_size")) {
        hidden = Dim(in.node.intAttr("hidden_size", -1));
        if (!hidden.known() || hidden.extent > kMost)
            return in.error("hidden_size cannot be " + std::to_string(in.node.intAttr("hidden_size", -1)));
        return {};
    }
    const auto& r = in.type(2).dims;
    if (r && r->size() == 3 && r->back().known())
        hidden = r->back();
    else if (r && r->size() == 3 && (*r)[1].known() && (*r)[1].extent % kind.gates == 0)
        hidden = Dim((*r)[1].extent / kind.gates);
    return {};
}

Status unifyAll(const InferContext& in, const Kind& kind, const Attributes& a, Extents& e) {
    TS_TRY(learnHidden(in, kind, e.hidden));
    const auto times = [&](std::int64_t factor) { return e.hidden.known() ? Dim(e.hidden.extent * factor) : Dim(); };
    Dim directions(static_cast<std::int64_t>(a.directions));
    Dim gates = times(kind.gates), biases = times(2 * kind.gates), peepholes = times(3);
    TS_TRY(e.unify(0, a.batchFirst ? std::vector<Dim*>{&e.batch, &e.time, &e.input}
                                   : std::vector<Dim*>{&e.time, &e.batch, &e.input}));
    TS_TRY(e.unify(1, {&directions, &gates, &e.input}));
    TS_TRY(e.unify(2, {&directions, &gates, &e.hidden}));
    TS_TRY(e.unify(kBias, {&directions, &biases}));
    TS_TRY(e.unify(kLengths, {&e.batch}));
    const std::vector<Dim*> state = a.batchFirst ? std::vector<Dim*>{&e.batch, &directions, &e.hidden}
                                                 : std::vector<Dim*>{&directions, &e.batch, &e.hidden};
    TS_TRY(e.unify(kHidden, state));
    TS_TRY(e.unify(kCell, state));
    return e.unify(kPeepholes, {&directions, &peepholes});
}

Status checkLengths(const InferContext& in, const Dim& time) {
    if (!in.isConstant(kLengths) || !time.known())
        return {};
    for (const std::int64_t length : in.constant(kLengths).asInts())
        if (length < 0 || length > time.extent)
            return in.error("a sequence has the length " + std::to_string(length) + " of " +
                            std::to_string(time.extent));
    return {};
}

Status inferRecurrent(InferContext& in, const Kind& kind) {
    TS_TRY(requireTypes(in));
    const auto a = readRecurrentAttributes(in.node, kind);
    if (!a.ok())
        return in.error(a.error().message);
    Extents e(in);
    TS_TRY(unifyAll(in, kind, *a, e));
    TS_TRY(checkLengths(in, e.time));
    const Dim directions(static_cast<std::int64_t>(a->directions));
    for (std::size_t i = 0; i < in.outputs.size(); ++i) {
        in.outputs[i] = TensorType(in.type(0).dtype);
        if (i == 0)
            in.outputs[i].dims = a->batchFirst ? Dims{e.batch, e.time, directions, e.hidden}
                                               : Dims{e.time, directions, e.batch, e.hidden};
        else
            in.outputs[i].dims =
                a->batchFirst ? Dims{e.batch, directions, e.hidden} : Dims{directions, e.batch, e.hidden};
    }
    return {};
}

// Slice `direction` of a tensor whose first dimension is the directions; zeros where the input is left out.
template <class T>
std::vector<T> sliceOf(const EvalContext& context, std::size_t index, std::size_t direction, std::int64_t count) {
    if (!context.has(index))
        return std::vector<T>(static_cast<std::size_t>(count));
    const auto data = context.input(index).data<T>().subspan(direction * static_cast<std::size_t>(count));
    return {data.begin(), data.begin() + count};
}

// The transposed slice [rows, columns] -> [columns, rows].
template <class T>
std::vector<T> transposedSlice(const EvalContext& context, std::size_t index, std::size_t direction) {
    const Shape& shape = context.input(index).shape();
    const std::vector<T> slice = sliceOf<T>(context, index, direction, shape[1] * shape[2]);
    std::vector<T> result(slice.size());
    for (std::int64_t i = 0; i < shape[1]; ++i)
        for (std::int64_t j = 0; j < shape[2]; ++j)
            result[static_cast<std::size_t>(j * shape[1] + i)] = slice[static_cast<std::size_t>(i * shape[2] + j)];
    return result;
}

// All that one run over the sequences needs besides the layer.
struct Run {
    Attributes attributes;
    std::int64_t time, batch;
    std::vector<std::int64_t> lengths; // per sequence

    Run(const EvalContext& context, Attributes a)
        : attributes(std::move(a)), time(context.input(0).shape()[attributes.timeAxis()]),
          batch(context.input(0).shape()[1 - attributes.timeAxis()]) {
        lengths = context.has(kLengths) ? context.input(kLengths).asInts()
                                        : std::vector<std::int64_t>(static_cast<std::size_t>(batch), time);
    }
    std::int64_t directions() const { return static_cast<std::int64_t>(attributes.directions); }
    std::int64_t inputRow(std::int64_t t, std::int64_t b) const {
        return attributes.batchFirst ? b * time + t : t * batch + b;
    }
    std::int64_t outputRow(std::int64_t t, std::int64_t d, std::int64_t b) const {
        return attributes.batchFirst ? (b * time + t) * directions() + d : (t * directions() + d) * batch + b;
    }
    std::int64_t stateRow(std::int64_t d, std::int64_t b) const {
        return attributes.batchFirst ? b * directions() + d : d * batch + b;
    }
};

template <class T>
std::vector<T> initialState(const EvalContext& context, std::size_t index, const Run& run, std::int64_t d,
                            std::int64_t hidden) {
    std::vector<T> state(static_cast<std::size_t>(run.batch * hidden));
    for (std::int64_t b = 0; context.has(index) && b < run.batch; ++b)
        std::copy_n(context.input(index).data<T>().begin() + run.stateRow(d, b) * hidden, hidden,
                    state.begin() + b * hidden);
    return state;
}

template <class T>
RecurrentLayer<T> makeLayer(const EvalContext& context, const Kind& kind, const Run& run, std::int64_t direction) {
    const auto d = static_cast<std::size_t>(direction);
    RecurrentLayer<T> layer;
    layer.batch = run.batch;
    layer.input = context.input(0).shape()[2];
    layer.hidden = context.input(2).shape()[2];
    layer.gates = kind.gates;
    layer.weights = transposedSlice<T>(context, 1, d);
    layer.recurrence = transposedSlice<T>(context, 2, d);
    const std::int64_t width = kind.gates * layer.hidden;
    const std::vector<T> biases = sliceOf<T>(context, kBias, d, 2 * width);
    layer.inputBias.assign(biases.begin(), biases.begin() + width);
    layer.recurrentBias.assign(biases.begin() + width, biases.end());
    if (context.has(kPeepholes))
        layer.peepholes = sliceOf<T>(context, kPeepholes, d, 3 * layer.hidden);
    layer.functions = run.attributes.functions.data() + d * kind.functions.size();
    layer.clip = run.attributes.clip;
    layer.linearBeforeReset = run.attributes.linearBeforeReset;
    layer.inputForget = run.attributes.inputForget;
    layer.x.resize(static_cast<std::size_t>(layer.batch * layer.input));
    layer.idle.resize(static_cast<std::size_t>(layer.batch));
    layer.h = initialState<T>(context, kHidden, run, direction, layer.hidden);
    if (kind.outputs == 3)
        layer.c = initialState<T>(context, kCell, run, direction, layer.hidden);
    return layer;
}

// All steps of one direction; sequences that have ended keep their state.
template <class T>
void runSteps(EvalContext& context, const Run& run, const RecurrentCell<T>& cell, RecurrentLayer<T>& layer,
              std::int64_t direction) {
    const bool reverse = run.attributes.reverse || direction == 1;
    const auto x = context.input(0).data<T>();
    for (std::int64_t step = 0; step < run.time; ++step) {
        const auto timeOf = [&](std::int64_t b) { return reverse ? run.lengths[b] - 1 - step : step; };
        for (std::int64_t b = 0; b < run.batch; ++b) {
            layer.idle[b] = step > run.lengths[b];
            if (step < run.lengths[b])
                std::copy_n(x.begin() + run.inputRow(timeOf(b), b) * layer.input, layer.input,
                            layer.x.begin() + b * layer.input);
        }
        const RecurrentState<T> next = cell(layer);
        for (std::int64_t b = 0; b < run.batch; ++b) {
            if (step >= run.lengths[b])
                continue;
            const std::int64_t at = b * layer.hidden;
            std::copy_n(next.h.begin() + at, layer.hidden, layer.h.begin() + at);
            if (!next.c.empty())
                std::copy_n(next.c.begin() + at, layer.hidden, layer.c.begin() + at);
            if (context.wanted(0))
                std::copy_n(next.h.begin() + at, layer.hidden,
                            context.outputs[0].mutableData<T>().begin() +
                                run.outputRow(timeOf(b), direction, b) * layer.hidden);
        }
    }
}

template <class T>
void writeState(EvalContext& context, std::size_t output, const Run& run, const std::vector<T>& state,
                std::int64_t direction) {
    if (!context.wanted(output))
        return;
    const std::int64_t hidden = context.outputs[output].shape().back();
    for (std::int64_t b = 0; b < run.batch; ++b)
        if (run.lengths[b] > 0)
            std::copy_n(state.begin() + b * hidden, hidden,
                        context.outputs[output].mutableData<T>().begin() + run.stateRow(direction, b) * hidden);
}

template <class T> Status evalRecurrent(EvalContext& context, const Kind& kind, const RecurrentCell<T>& cell) {
    TS_ASSIGN(Attributes attributes, readRecurrentAttributes(context.node, kind));
    const Run run(context, std::move(attributes));
    for (std::int64_t d = 0; d < run.directions(); ++d) {
        RecurrentLayer<T> layer = makeLayer<T>(context, kind, run, d);
        runSteps(context, run, cell, layer, d);
        writeState(context, 1, run, layer.h, d);
        if (kind.outputs == 3)
            writeState(context, 2, run, layer.c, d);
    }
    return {};
}

void addRecurrent(OperatorList& list, const std::string& name, const Kind& kind, std::size_t inputs,
                  const RecurrentCell<float>& single, const RecurrentCell<double>& dual) {
    addOperator(
        list, name, Fusion::opaque, 7, {3, inputs, kind.outputs},
        [kind](InferContext& in) { return inferRecurrent(in, kind); },
        [kind, single, dual](EvalContext& context) {
            return context.input(0).type() == DType::f64 ? evalRecurrent<double>(context, kind, dual)
                                                         : evalRecurrent<float>(context, kind, single);
        });
    list.back().expand = [kind](ExpandContext& context) { return expandRecurrent(context, kind); };
}

} // namespace

Result<RecurrentAttributes> readRecurrentAttributes(const Node& node, const RecurrentKind& kind) {
    RecurrentAttributes a;
    const std::string direction = node.stringAttr("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
        return inputError("direction must be forward, reverse or bidirectional, not '" + direction + "'");
    a.directions = direction == "bidirectional" ? 2 : 1;
    a.reverse = direction == "reverse";
    const std::int64_t layout = node.intAttr("layout", 0);
    if (layout != 0 && layout != 1)
        return inputError("layout must be 0 or 1, not " + std::to_string(layout));
    a.batchFirst = layout == 1;
    a.linearBeforeReset = node.intAttr("linear_before_reset", 0) != 0;
    a.inputForget = node.intAttr("input_forget", 0) != 0;
    if (node.has("clip"))
        a.clip = node.floatAttr("clip", 0);
    if (!(a.clip > 0))
        return inputError("clip must be above 0");
    TS_ASSIGN(a.functions, recurrentFunctions(node, kind.functions, a.directions));
    return a;
}

const RecurrentKind& lstmKind() {
    static const RecurrentKind kind{4, {"Sigmoid", "Tanh", "Tanh"}, 3};
    return kind;
}

Status inferLstm(InferContext& in) { return inferRecurrent(in, lstmKind()); }
Status evalLstm(EvalContext& context, const RecurrentCell<double>& cell) {
    return evalRecurrent<double>(context, lstmKind(), cell);
}

void registerRecurrent(OperatorList& list) {
    addRecurrent(list, "LSTM", lstmKind(), 8, lstmCell<float>, lstmCell<double>);
    addRecurrent(list, "GRU", {3, {"Sigmoid", "Tanh"}, 2}, 6, gruCell<float>, gruCell<double>);
    addRecurrent(list, "RNN", {1, {"Tanh"}, 2}, 6, rnnCell<float>, rnnCell<double>);
}

} // namespace tunesmith::ops
