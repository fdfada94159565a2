// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/recurrent.h"

namespace tunesmith::ops {
namespace {

using In = RecurrentInputs;

// One direction of a layer as nodes. Each gate has products of its own, so that its bias and function join the product's
// kernel; the rows of all steps lie one after the other, so that a step's are a piece of them.
class LayerWriter {
public:
    LayerWriter(ExpandContext& context, const RecurrentKind& kind, const RecurrentAttributes& attributes, std::int64_t direction,
                std::int64_t hidden, RecurrentProducts products)
        : c_(context), kind_(kind), attributes_(attributes), direction_(direction),
          functions_(attributes.functions.data() + static_cast<std::size_t>(direction) * kind.functions.size()),
          hidden_(hidden), products_(std::move(products)) {
        const Shape x = context.type(In::x).shape();
        time_ = x[attributes.timeAxis()];
        batch_ = x[1 - attributes.timeAxis()];
    }

    void write() {
        readInput();
        h_ = initialState(In::hidden);
        if (kind_.outputs == 3)
            cell_ = initialState(In::cell);
        const bool reverse = attributes_.reverse || direction_ == 1;
        steps.resize(static_cast<std::size_t>(time_));
        for (std::int64_t step = 0; step < time_; ++step) {
            now_ = reverse ? time_ - 1 - step : step;
            kind_.gates == 4 ? stepLstm() : kind_.gates == 3 ? stepGru() : stepRnn();
            steps[static_cast<std::size_t>(now_)] = h_;
        }
    }

    std::vector<ValueId> steps; // [batch, hidden] by time
    ValueId h() const { return h_; }
    ValueId cell() const { return cell_; }

private:
    ValueId binary(const char* op, ValueId a, ValueId b) { return c_.add(op, {a, b}); }
    ValueId number(double value) { return c_.number(c_.type(In::x).dtype, value); }
    ValueId range(ValueId value, std::int64_t axis, std::int64_t index) { // piece `index` of `hidden` elements
        return c_.slice(value, axis, index * hidden_, (index + 1) * hidden_);
    }

    void readInput() {
        const ValueId bias = c_.has(In::bias) ? c_.pick(c_.node.inputs[In::bias], direction_) : ValueId();
        for (std::int64_t gate = 0; gate < kind_.gates; ++gate) {
            ValueId product = products_.ofInput(gate);
            recurrentBias_.emplace_back();
            if (bias.valid()) {
                const ValueId own = range(bias, 0, gate), other = range(bias, 0, kind_.gates + gate);
                const bool apart = kind_.gates == 3 && gate == 2 && attributes_.linearBeforeReset;
                product = binary("Add", product, apart ? own : binary("Add", own, other));
                recurrentBias_.back() = apart ? other : ValueId();
            }
            fromInput_.push_back(c_.reshape(product, {time_, batch_, hidden_}));
        }
        for (std::int64_t i = 0; c_.has(In::peepholes) && i < 3; ++i)
            peepholes_.push_back(range(c_.pick(c_.node.inputs[In::peepholes], direction_), 0, i));
    }

    ValueId initialState(std::size_t input) {
        if (c_.has(input))
            return c_.pick(c_.node.inputs[input], direction_, attributes_.batchFirst ? 1 : 0);
        return c_.addConstant(Tensor::zeros(c_.type(In::x).dtype, {batch_, hidden_}));
    }

    // What a gate gets from input and state, before its function.
    ValueId gate(std::int64_t index, ValueId state) {
        return binary("Add", products_.ofState(index, state), c_.pick(fromInput_[static_cast<std::size_t>(index)], now_));
    }
    ValueId peeped(ValueId value, std::size_t peephole, ValueId cell) {
        return peepholes_.empty() ? value : binary("Add", value, binary("Mul", cell, peepholes_[peephole]));
    }

    ValueId clipped(ValueId value) {
        return std::isinf(attributes_.clip) ? value : c_.clip(value, c_.type(In::x).dtype, -attributes_.clip, attributes_.clip);
    }
    ValueId apply(std::size_t function, ValueId value) { return shown(function, clipped(value)); }
    ValueId shown(std::size_t function, ValueId value) {
        const RecurrentFunction& f = functions_[function];
        const std::string op = f.op;
        if (op == "Affine")
            return binary("Add", binary("Mul", value, number(f.alpha)), number(f.beta));
        if (op == "ScaledTanh")
            return binary("Mul", c_.add("Tanh", {binary("Mul", value, number(f.beta))}), number(f.alpha));
        std::map<std::string, Attribute> attributes;
        if (op == "LeakyRelu" || op == "ThresholdedRelu" || op == "HardSigmoid" || op == "Elu")
            attributes["alpha"] = static_cast<float>(f.alpha);
        if (op == "HardSigmoid")
            attributes["beta"] = static_cast<float>(f.beta);
        return c_.add(op, {value}, std::move(attributes));
    }

    void stepLstm() { // gates i, o, f, c
        const ValueId i = apply(0, peeped(gate(0, h_), 0, cell_));
        const ValueId kept = attributes_.inputForget ? binary("Mul", binary("Sub", number(1), i), cell_)
                                                     : binary("Mul", apply(0, peeped(gate(2, h_), 2, cell_)), cell_);
        const ValueId next = binary("Add", binary("Mul", apply(1, gate(3, h_)), i), kept);
        const ValueId o = apply(0, peeped(gate(1, h_), 1, next));
        cell_ = next;
        h_ = binary("Mul", shown(2, next), o);
    }

    void stepGru() { // gates z, r, h
        const ValueId z = apply(0, gate(0, h_)), r = apply(0, gate(1, h_));
        ValueId proposed;
        if (attributes_.linearBeforeReset) {
            proposed = products_.ofState(2, h_);
            if (recurrentBias_[2].valid())
                proposed = binary("Add", proposed, recurrentBias_[2]);
            proposed = binary("Add", binary("Mul", proposed, r), c_.pick(fromInput_[2], now_));
        } else {
            proposed = gate(2, binary("Mul", r, h_));
        }
        h_ = binary("Add", binary("Mul", apply(1, proposed), binary("Sub", number(1), z)), binary("Mul", z, h_));
    }

    void stepRnn() { h_ = apply(0, gate(0, h_)); }

    ExpandContext& c_;
    const RecurrentKind& kind_;
    const RecurrentAttributes& attributes_;
    std::int64_t direction_;
    const RecurrentFunction* functions_;
    std::int64_t hidden_, time_ = 0, batch_ = 0, now_ = 0;
    RecurrentProducts products_;
    std::vector<ValueId> fromInput_, recurrentBias_, peepholes_; // by gate
    ValueId h_, cell_;
};

Status checkExpandable(const ExpandContext& context) {
    for (std::size_t input = 0; input < context.count(); ++input)
        if (input != In::lengths && context.has(input) && !context.type(input).isStatic())
            return context.unsupported("the shape of input " + std::to_string(input) + " is known when it runs");
    if (const DType type = context.type(In::x).dtype; type != DType::f32 && type != DType::f64)
        return context.unsupported("layers of " + std::string(dtypeName(type)) + " are not written out");
    const Shape x = context.type(In::x).shape();
    const std::int64_t time = x[context.node.intAttr("layout", 0) == 1 ? 1 : 0];
    TS_TRY(context.requireAtMost(ExpandContext::kMostSteps, time, "steps"));
    if (elementCount(x) == 0 || elementCount(context.type(In::recurrence).shape()) == 0)
        return context.unsupported("its input has no elements");
    if (context.has(In::lengths)) {
        if (!context.isConstant(In::lengths))
            return context.unsupported("the lengths of its sequences are known when it runs");
        const auto lengths = context.constant(In::lengths).asInts();
        if (std::ranges::any_of(lengths, [&](std::int64_t length) { return length != time; }))
            return context.unsupported("its sequences have different lengths");
    }
    return {};
}

// [batch, hidden] of each direction as a state output.
ValueId stateOutput(ExpandContext& context, const std::vector<ValueId>& states, bool batchFirst) {
    std::vector<ValueId> slices;
    const std::int64_t axis = batchFirst ? 1 : 0;
    for (const ValueId state : states)
        slices.push_back(context.unsqueeze(state, axis));
    return context.concat(slices, axis);
}

// Weights [directions, gates * hidden, ...] of one direction, transposed, by gate.
std::vector<ValueId> gateMatrices(ExpandContext& context, std::size_t weights, std::int64_t gates, std::int64_t direction) {
    const std::int64_t hidden = context.type(weights).shape()[1] / gates;
    const ValueId own = context.pick(context.node.inputs[weights], direction);
    std::vector<ValueId> matrices;
    for (std::int64_t gate = 0; gate < gates; ++gate)
        matrices.push_back(context.transpose(context.slice(own, 0, gate * hidden, (gate + 1) * hidden), {1, 0}));
    return matrices;
}

RecurrentProducts floatProducts(ExpandContext& context, std::int64_t gates, std::int64_t direction, ValueId rows) {
    const auto times = [&context](std::vector<ValueId> matrices) {
        return [&context, matrices](std::int64_t gate, ValueId left) { return context.add("MatMul", left, matrices[static_cast<std::size_t>(gate)]); };
    };
    const auto ofRows = times(gateMatrices(context, In::weights, gates, direction));
    return {[ofRows, rows](std::int64_t gate) { return ofRows(gate, rows); }, times(gateMatrices(context, In::recurrence, gates, direction))};
}

} // namespace

Status expandRecurrent(ExpandContext& context, const RecurrentKind& kind) {
    return expandRecurrent(context, kind, [&](std::int64_t direction, ValueId rows) { return floatProducts(context, kind.gates, direction, rows); });
}

Status expandRecurrent(ExpandContext& context, const RecurrentKind& kind, const RecurrentProductsOf& productsOf) {
    TS_TRY(checkExpandable(context));
    const Shape recurrence = context.type(In::recurrence).shape();
    const std::int64_t hidden = std::min(recurrence[1], recurrence[2]); // whichever way the weights lie
    TS_ASSIGN(const RecurrentAttributes attributes, readRecurrentAttributes(context.node, kind));
    const Shape x = context.type(In::x).shape();
    const std::int64_t time = x[attributes.timeAxis()], batch = x[1 - attributes.timeAxis()];
    const ValueId timeFirst = attributes.batchFirst
                                  ? context.transpose(context.node.inputs[In::x], {1, 0, 2})
                                  : context.node.inputs[In::x];
    const ValueId rows = context.reshape(timeFirst, {time * batch, x[2]});
    std::vector<ValueId> outputs, states, cells;
    for (std::size_t d = 0; d < attributes.directions; ++d) {
        const auto direction = static_cast<std::int64_t>(d);
        LayerWriter layer(context, kind, attributes, direction, hidden, productsOf(direction, rows));
        layer.write();
        const ValueId all = context.concat(layer.steps, 0);
        outputs.push_back(context.reshape(all, {time, 1, batch, hidden}));
        states.push_back(layer.h());
        cells.push_back(layer.cell());
    }
    if (context.wanted(0)) {
        const ValueId y = context.concat(outputs, 1);
        context.outputs[0] = attributes.batchFirst ? context.transpose(y, {2, 0, 1, 3}) : y;
    }
    if (context.wanted(1))
        context.outputs[1] = stateOutput(context, states, attributes.batchFirst);
    if (context.wanted(2))
        context.outputs[2] = stateOutput(context, cells, attributes.batchFirst);
    return {};
}

} // namespace tunesmith::ops
