// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/linear_attention.h"

#include <algorithm>
#include <cmath>

#include "core/ops/contrib/contrib.h"
#include "core/ops/movement.h"

namespace tunesmith::ops {
namespace {

// One head of keys and values at one time.
class StateStep {
public:
    StateStep(const LinearAttentionShape& shape, double* state) : s_(shape), state_(state), read_(static_cast<std::size_t>(shape.valueSize)) {}

    void decay(const double* decays) {
        for (std::int64_t d = 0; d < s_.keySize; ++d)
            for (std::int64_t m = 0; m < s_.valueSize; ++m)
                state_[d * s_.valueSize + m] *= std::exp(decays[s_.decays == 1 ? 0 : d]);
    }
    // Adds k (x) v, or what is missing to it where there is a rate.
    void write(const double* k, const double* v, const double* beta) {
        const std::vector<double>& held = read(k);
        for (std::int64_t m = 0; m < s_.valueSize; ++m) {
            const double added = beta ? *beta * (v[m] - held[static_cast<std::size_t>(m)]) : v[m];
            for (std::int64_t d = 0; d < s_.keySize; ++d)
                state_[d * s_.valueSize + m] += k[d] * added;
        }
    }
    const std::vector<double>& read(const double* key) { // S^T key
        std::ranges::fill(read_, 0.0);
        for (std::int64_t d = 0; d < s_.keySize; ++d)
            for (std::int64_t m = 0; m < s_.valueSize; ++m)
                read_[static_cast<std::size_t>(m)] += key[d] * state_[d * s_.valueSize + m];
        return read_;
    }

private:
    const LinearAttentionShape& s_;
    double* state_;
    std::vector<double> read_;
};

} // namespace

Tensor attendLinearly(const LinearAttentionShape& s, const LinearAttentionInputs& in, Tensor& state) {
    Tensor y = Tensor::zeros(DType::f64, {s.batch, s.time, s.heads * s.valueSize});
    const auto at = [](const Tensor& tensor, std::int64_t index) { return tensor.data<double>().data() + index; };
    for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t h = 0; h < s.kvHeads; ++h) {
            StateStep step(s, state.mutableData<double>().data() + (b * s.kvHeads + h) * s.keySize * s.valueSize);
            for (std::int64_t t = b * s.time; t < (b + 1) * s.time; ++t) {
                const std::int64_t head = t * s.kvHeads + h;
                if (s.decays > 0)
                    step.decay(at(in.decay, head * s.decays));
                step.write(at(in.k, head * s.keySize), at(in.v, head * s.valueSize), s.betas > 0 ? at(in.beta, s.betas == 1 ? t : head) : nullptr);
                for (std::int64_t g = t * s.heads + h * s.group(); g < t * s.heads + (h + 1) * s.group(); ++g)
                    std::ranges::transform(step.read(at(in.q, g * s.keySize)), y.mutableData<double>().begin() + g * s.valueSize,
                                           [&](double value) { return s.scale * value; });
            }
        }
    return y;
}

void expandLinearAttention(ExpandContext& c, const LinearAttentionShape& s, LinearAttentionNodes& nodes) {
    const auto byHead = [&](ValueId packed, const Shape& shape) { return packed.valid() ? c.reshape(packed, shape) : packed; };
    const ValueId q = byHead(nodes.q, {s.batch, s.time, s.kvHeads, s.group(), s.keySize});
    const ValueId columns = byHead(nodes.k, {s.batch, s.time, s.kvHeads, s.keySize, 1}), rows = byHead(nodes.k, {s.batch, s.time, s.kvHeads, 1, s.keySize});
    const ValueId v = byHead(nodes.v, {s.batch, s.time, s.kvHeads, 1, s.valueSize});
    const ValueId kept = nodes.decay.valid() ? c.add("Exp", {byHead(nodes.decay, {s.batch, s.time, s.kvHeads, s.decays, 1})}) : ValueId();
    const ValueId beta = byHead(nodes.beta, {s.batch, s.time, s.betas, 1, 1});
    std::vector<ValueId> outputs;
    for (std::int64_t t = 0; t < s.time; ++t) {
        if (kept.valid())
            nodes.state = c.add("Mul", nodes.state, c.pick(kept, t, 1));
        ValueId added = c.pick(v, t, 1);
        if (beta.valid())
            added = c.add("Mul", c.add("Sub", added, c.add("MatMul", c.pick(rows, t, 1), nodes.state)), c.pick(beta, t, 1));
        nodes.state = c.add("Add", nodes.state, c.add("Mul", c.pick(columns, t, 1), added));
        outputs.push_back(c.reshape(c.add("MatMul", c.pick(q, t, 1), nodes.state), {s.batch, 1, s.heads * s.valueSize}));
    }
    const ValueId all = outputs.size() == 1 ? outputs.front() : c.concat(outputs, 1);
    nodes.y = c.add("Mul", all, c.number(DType::f32, s.scale));
}

namespace {

enum LinearInput : std::size_t { kLinearQ, kLinearK, kLinearV, kLinearState, kLinearDecay, kLinearBeta };

struct UpdateRule {
    bool decays, corrects;
};

Result<UpdateRule> updateRule(const OpInputs& in) {
    const std::string rule = in.node.stringAttr("update_rule", "gated_delta");
    const UpdateRule found{rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"};
    if (!found.decays && !found.corrects && rule != "linear")
        return in.error("update_rule must be linear, gated, delta or gated_delta, not '" + rule + "'");
    if (found.decays != in.has(kLinearDecay))
        return in.error("the rule '" + rule + "' " + (found.decays ? "needs" : "forbids") + " a decay");
    if (found.corrects != in.has(kLinearBeta))
        return in.error("the rule '" + rule + "' " + (found.corrects ? "needs" : "forbids") + " a beta");
    return found;
}

// In com.microsoft several heads of values may share one of queries or keys.
bool sharesHeads(const Node& node) { return node.domain == kMicrosoft; }

Status checkHeads(const OpInputs& in) {
    const std::int64_t heads = in.node.intAttr("q_num_heads", 0), shared = in.node.intAttr("kv_num_heads", 0);
    const bool fits = heads >= 1 && shared >= 1 && std::max(heads, shared) <= kMostHeads && (heads % shared == 0 || (sharesHeads(in.node) && shared % heads == 0));
    if (!fits)
        return in.error("q_num_heads (" + std::to_string(heads) + ") must be a multiple of kv_num_heads (" + std::to_string(shared) + "), and both at most " + std::to_string(kMostHeads));
    if (in.node.intAttr("state_window", 0) != 0)
        return in.unsupported("state_window, which keeps several states, is for GPUs");
    for (const std::size_t input : {kLinearQ, kLinearK, kLinearV}) {
        if (!in.type(input).dims || (input == kLinearK && sharesHeads(in.node)))
            continue;
        const std::int64_t count = input == kLinearQ ? heads : shared;
        if (in.type(input).dims->size() != 3 || (in.type(input).dims->back().known() && in.type(input).dims->back().extent % count != 0))
            return in.error("input " + in.type(input).text() + " must be [batch, time, " + std::to_string(count) + " heads * size]");
    }
    for (const std::size_t input : {kLinearDecay, kLinearBeta})
        if (in.has(input) && in.type(input).dims && in.type(input).dims->size() != 3)
            return in.error("input " + in.type(input).text() + " must have 3 dimensions");
    return {};
}

LinearAttentionShape linearShape(const Node& node, const Shape& q, const Shape& v, const Shape& decay, const Shape& beta) {
    LinearAttentionShape s;
    s.batch = q[0];
    s.time = q[1];
    s.kvHeads = node.intAttr("kv_num_heads", 1);
    s.keySize = q[2] / node.intAttr("q_num_heads", 1);
    s.heads = std::max(node.intAttr("q_num_heads", 1), s.kvHeads);
    s.valueSize = v[2] / s.kvHeads;
    s.decays = decay.empty() ? 0 : decay[2] / s.kvHeads;
    s.betas = beta.empty() ? 0 : beta[2];
    const double scale = node.floatAttr("scale", 0);
    s.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(s.keySize));
    return s;
}

// Of inputs that all have static shapes.
Status checkLinearShapes(const OpInputs& in) {
    const auto shapeOf = [&](std::size_t input) { return in.has(input) ? in.type(input).shape() : Shape(); };
    const LinearAttentionShape s = linearShape(in.node, shapeOf(kLinearQ), shapeOf(kLinearV), shapeOf(kLinearDecay), shapeOf(kLinearBeta));
    const auto fits = [&](std::size_t input, const Shape& wanted) {
        return shapeOf(input) == wanted ? Status() : Status(in.error("input " + in.type(input).text() + " must have the shape " + shapeText(wanted)));
    };
    const Shape k = shapeOf(kLinearK);
    const std::int64_t keyHeads = k.size() == 3 && s.keySize > 0 ? k[2] / s.keySize : 0;
    const bool shared = sharesHeads(in.node) && keyHeads > 0 && s.kvHeads % keyHeads == 0;
    TS_TRY(fits(kLinearK, {s.batch, s.time, (shared ? keyHeads : s.kvHeads) * s.keySize}));
    TS_TRY(fits(kLinearV, {s.batch, s.time, s.kvHeads * s.valueSize}));
    if (in.has(kLinearState))
        TS_TRY(fits(kLinearState, s.state()));
    if (in.has(kLinearDecay))
        TS_TRY(fits(kLinearDecay, {s.batch, s.time, s.kvHeads * (s.decays == 1 ? 1 : s.keySize)}));
    if (in.has(kLinearBeta))
        TS_TRY(fits(kLinearBeta, {s.batch, s.time, s.betas == 1 ? 1 : s.kvHeads}));
    return {};
}

Status inferLinearAttention(InferContext& in) {
    bool known = true;
    for (std::size_t i = 0; i < in.count(); ++i) {
        if (!in.has(i))
            continue;
        TS_TRY(requireFloat(in, i));
        if (i != kLinearState)
            TS_TRY(requireSameType(in, kLinearQ, i));
        known = known && in.type(i).isStatic();
    }
    if (const auto rule = updateRule(in); !rule.ok())
        return rule.error();
    TS_TRY(checkHeads(in));
    if (known)
        TS_TRY(checkLinearShapes(in));
    in.outputs[0] = TensorType(in.type(kLinearQ).dtype);
    if (in.outputs.size() > 1)
        in.outputs[1] = in.has(kLinearState) ? in.type(kLinearState) : TensorType(in.type(kLinearQ).dtype);
    if (!in.type(kLinearQ).dims || !in.type(kLinearV).dims)
        return {};
    const Dims &q = *in.type(kLinearQ).dims, &v = *in.type(kLinearV).dims;
    const std::int64_t heads = in.node.intAttr("q_num_heads", 1), shared = in.node.intAttr("kv_num_heads", 1);
    const auto split = [](const Dim& dim, std::int64_t parts) { return dim.known() ? Dim(dim.extent / parts) : Dim(); };
    const Dim value = split(v[2], shared);
    in.outputs[0].dims = Dims{q[0], q[1], value.known() ? Dim(value.extent * std::max(heads, shared)) : Dim()};
    if (in.outputs.size() > 1 && !in.outputs[1].dims)
        in.outputs[1].dims = Dims{q[0], Dim(shared), split(q[2], heads), value};
    return {};
}

// [batch, time, heads * size] with each head as often as makes `wanted` of them.
Tensor repeatedHeads(const Tensor& x, std::int64_t size, std::int64_t wanted) {
    const Shape& own = x.shape();
    const std::int64_t heads = own[2] / std::max<std::int64_t>(size, 1);
    if (heads == 0 || heads == wanted)
        return x;
    const Shape repeated{own[0] * own[1], heads, wanted / heads, size};
    return gatherView(x, {repeated, {own[2], size, 0, 1}}, repeated).reshaped({own[0], own[1], wanted * size});
}

ValueId repeatedHeads(ExpandContext& context, ValueId x, const Shape& own, std::int64_t size, std::int64_t wanted) {
    const std::int64_t heads = own[2] / size;
    if (heads == wanted)
        return x;
    const ValueId apart = context.reshape(x, {own[0] * own[1], heads, 1, size});
    const std::vector<ValueId> copies(static_cast<std::size_t>(wanted / heads), apart);
    return context.reshape(context.concat(copies, 2), {own[0], own[1], wanted * size});
}

Status evalLinearAttention(EvalContext& context) {
    const auto wide = [&](std::size_t input) { return context.has(input) ? context.input(input).cast(DType::f64) : Tensor(); };
    LinearAttentionInputs in{wide(kLinearQ), wide(kLinearK), wide(kLinearV), wide(kLinearDecay), wide(kLinearBeta)};
    const LinearAttentionShape s = linearShape(context.node, in.q.shape(), in.v.shape(), in.decay.shape(), in.beta.shape());
    in.q = repeatedHeads(in.q, s.keySize, s.heads);
    in.k = repeatedHeads(in.k, s.keySize, s.kvHeads);
    Tensor state = Tensor::zeros(DType::f64, s.state());
    if (context.has(kLinearState))
        std::ranges::copy(wide(kLinearState).data<double>(), state.mutableData<double>().begin());
    context.outputs[0] = attendLinearly(s, in, state).cast(context.outputs[0].type());
    if (context.wanted(1))
        context.outputs[1] = state.cast(context.outputs[1].type());
    return {};
}

Status writeLinearAttention(ExpandContext& context) {
    TS_TRY(context.requireShapes());
    const DType type = context.type(kLinearQ).dtype;
    if (type == DType::f64)
        return context.unsupported("float64 is not written with other operators");
    const auto shapeOf = [&](std::size_t input) { return context.has(input) ? context.type(input).shape() : Shape(); };
    const LinearAttentionShape s = linearShape(context.node, shapeOf(kLinearQ), shapeOf(kLinearV), shapeOf(kLinearDecay), shapeOf(kLinearBeta));
    TS_TRY(context.requireAtMost(ExpandContext::kMostSteps, s.time, "steps"));
    TS_TRY(context.requireAtMost(ExpandContext::kMostSteps, s.heads, "heads"));
    const auto wide = [&](std::size_t input) { return context.has(input) ? context.widened(context.node.inputs[input], context.type(input).dtype) : ValueId(); };
    LinearAttentionNodes nodes{wide(kLinearQ), wide(kLinearK), wide(kLinearV), wide(kLinearDecay), wide(kLinearBeta), wide(kLinearState), {}};
    nodes.q = repeatedHeads(context, nodes.q, shapeOf(kLinearQ), s.keySize, s.heads);
    nodes.k = repeatedHeads(context, nodes.k, shapeOf(kLinearK), s.keySize, s.kvHeads);
    if (!nodes.state.valid())
        nodes.state = context.addConstant(Tensor::zeros(DType::f32, s.state()));
    expandLinearAttention(context, s, nodes);
    context.outputs[0] = context.narrowed(nodes.y, type);
    if (context.wanted(1))
        context.outputs[1] = context.narrowed(nodes.state, context.has(kLinearState) ? context.type(kLinearState).dtype : type);
    return {};
}

} // namespace

void registerLinearAttention(OperatorList& list) {
    addOperator(list, "LinearAttention", Fusion::opaque, 27, {3, 6, 2}, inferLinearAttention, evalLinearAttention);
    list.back().expand = writeLinearAttention;
    addExpanded(list, "LinearAttention", {3, 6, 2}, inferLinearAttention, evalLinearAttention, writeLinearAttention);
}

} // namespace tunesmith::ops
