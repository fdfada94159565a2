// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <numeric>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/qlinear.h"

// QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax, QLinearConcat, QLinearWhere: functions and moves of
// single bytes. Kernels look bytes up in tables, as ONNX Runtime does; compiled, a byte becomes a real number
// and is quantised again.
namespace tunesmith::ops {
namespace {

constexpr QuantisedInput kQuantisedX{0, 1, 2}, kQuantisedY{0, 3, 4};

Status inferQLinearUnary(InferContext& in) {
    TS_TRY(checkQuantised(in, kQuantisedX));
    TS_TRY(checkParameters(in, kQuantisedX.value, kQuantisedY));
    return inferSameAsFirst(in);
}

// Copies bytes through the table that leads from one pair of parameters to the other.
template <class Function>
void mapBytes(const Tensor& x, const ScaleAndZero& from, const ScaleAndZero& to, Function function,
              std::byte* out) {
    visitQuantised(x.type(), [&](auto tag) {
        using T = decltype(tag);
        if constexpr (sizeof(T) == 1) {
            const auto table = quantisedTable<T>(from, to, function);
            std::ranges::transform(x.data<T>(), reinterpret_cast<T*>(out),
                                   [&](T stored) { return table[static_cast<std::uint8_t>(stored)]; });
        }
    });
}

float sameNumber(float x) {
    return x;
}

using NodeFunction = double (*)(const Node& node, double x);
Kernel tableKernel(NodeFunction function) {
    return [function](EvalContext& context) -> Status {
        mapBytes(
            context.input(0), parametersOf(context, kQuantisedX), parametersOf(context, kQuantisedY),
            [&](float x) { return function(context.node, static_cast<double>(x)); },
            context.outputs[0].mutableBytes().data());
        return {};
    };
}

void addQLinearFunction(OperatorList& list, const char* name, const char* onnx, NodeFunction function) {
    const auto expand = [onnx](ExpandContext& context) -> Status {
        std::map<std::string, Attribute> attributes;
        if (context.node.has("alpha"))
            attributes["alpha"] = context.node.attributes.at("alpha");
        const ValueId y = context.add(onnx, {dequantized(context, kQuantisedX)}, std::move(attributes));
        context.outputs[0] = quantized(context, y, context.type(0).dtype, kQuantisedY);
        return {};
    };
    addExpanded(list, name, {1, 5}, inferQLinearUnary, tableKernel(function), expand);
}

// Softmax of an opset: before 13 over all axes from `axis` on, since 13 over one.
struct SoftmaxExtents {
    std::size_t axis;
    std::int64_t outer = 1, count = 1, inner = 1;
    SoftmaxExtents(const Node& node, const Shape& shape) {
        const bool flattens = node.intAttr("opset", 13) < 13;
        axis = frontAxis(node.intAttr("axis", flattens ? 1 : -1), shape.size());
        for (std::size_t d = 0; d < shape.size(); ++d)
            (d < axis ? outer : d == axis || flattens ? count : inner) *= shape[d];
    }
};

Status inferQLinearSoftmax(InferContext& in) {
    TS_TRY(inferQLinearUnary(in));
    if (!in.type(0).dims)
        return {};
    const std::int64_t fallback = in.node.intAttr("opset", 13) < 13 ? 1 : -1;
    const auto axis = frontAxis(in, in.node.intAttr("axis", fallback), in.type(0).dims->size());
    return axis.ok() ? Status() : Status(axis.error());
}

Status evalQLinearSoftmax(EvalContext& context) {
    const Tensor x = context.input(0).cast(DType::i32);
    const SoftmaxExtents s(context.node, x.shape());
    const ScaleAndZero from = parametersOf(context, kQuantisedX), to = parametersOf(context, kQuantisedY);
    const auto stored = x.data<std::int32_t>();
    visitQuantised(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        const auto y = context.outputs[0].mutableData<T>();
        std::vector<double> powers(static_cast<std::size_t>(s.count));
        for (std::int64_t row = 0; row < s.outer * s.inner; ++row) {
            const auto at = [&](std::int64_t i) {
                return (row / s.inner * s.count + i) * s.inner + row % s.inner;
            };
            std::int32_t top = std::numeric_limits<std::int32_t>::lowest();
            for (std::int64_t i = 0; i < s.count; ++i)
                top = std::max(top, stored[at(i)]);
            for (std::int64_t i = 0; i < s.count; ++i)
                powers[i] =
                    std::exp(static_cast<double>(stored[at(i)] - top) * static_cast<double>(from.scale));
            const double sum = std::accumulate(powers.begin(), powers.end(), 0.0);
            for (std::int64_t i = 0; i < s.count; ++i) {
                const auto real = static_cast<float>(powers[i] / sum);
                y[at(i)] = saturated<T>(std::nearbyint(real / to.scale) + static_cast<float>(to.zero));
            }
        }
    });
    return {};
}

// The one axis of the softmax is the last of three: all opsets mean the same by that.
Status expandQLinearSoftmax(ExpandContext& context) {
    const Shape shape = context.type(0).shape();
    const SoftmaxExtents s(context.node, shape);
    const ValueId rows = context.reshape(dequantized(context, kQuantisedX), {s.outer, s.count, s.inner});
    const ValueId last = s.inner == 1 ? rows : context.transpose(rows, {0, 2, 1});
    ValueId y = context.add("Softmax", {context.reshape(last, {s.outer * s.inner, s.count})},
                            {{"axis", std::int64_t{1}}});
    if (s.inner != 1)
        y = context.transpose(context.reshape(y, {s.outer, s.inner, s.count}), {0, 2, 1});
    context.outputs[0] = quantized(context, context.reshape(y, shape), context.type(0).dtype, kQuantisedY);
    return {};
}

// QLinearConcat: scale and zero point of the result, then tensor, scale and zero point of each part.
constexpr std::size_t kFirstPart = 2;
constexpr QuantisedInput kWhole{kFirstPart, 0, 1};

std::vector<QuantisedInput> partsOf(const Node& node) {
    std::vector<QuantisedInput> parts;
    for (std::size_t i = kFirstPart; i < node.inputs.size(); i += 3)
        parts.push_back({i, i + 1, i + 2});
    return parts;
}

Status inferQLinearConcat(InferContext& in) {
    if (in.count() < kFirstPart + 3 || (in.count() - kFirstPart) % 3 != 0)
        return in.error("has " + std::to_string(in.count()) +
                        " inputs; each part needs a tensor, a scale and a zero point");
    TS_TRY(requireInputs(in, {kFirstPart}));
    TS_TRY(checkParameters(in, kFirstPart, kWhole));
    in.outputs[0] = TensorType(in.type(kFirstPart).dtype);
    Dims dims;
    for (const QuantisedInput& part : partsOf(in.node)) {
        TS_TRY(checkQuantised(in, part));
        TS_TRY(requireSameType(in, kFirstPart, part.value));
        if (!in.type(part.value).dims)
            return {};
        const Dims& own = *in.type(part.value).dims;
        TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 0), own.size()));
        if (part.value == kFirstPart) {
            dims = own;
            continue;
        }
        for (std::size_t d = 0; d < own.size(); ++d)
            if (own.size() != dims.size() || (d != axis && !mergeEqual(own[d], dims[d])))
                return pairError(in, kFirstPart, part.value,
                                 "do not fit: all dimensions but that of the axis must be equal");
        dims[axis] =
            dims[axis].known() && own[axis].known() ? Dim(dims[axis].extent + own[axis].extent) : Dim();
    }
    in.outputs[0].dims = std::move(dims);
    return {};
}

Status evalQLinearConcat(EvalContext& context) {
    const Shape whole = context.outputs[0].shape();
    const std::size_t axis = frontAxis(context.node.intAttr("axis", 0), whole.size());
    const std::int64_t outer = elementCount(std::span(whole).first(axis)),
                       inner = elementCount(std::span(whole).subspan(axis + 1));
    const ScaleAndZero to = parametersOf(context, kWhole);
    std::int64_t at = 0;
    for (const QuantisedInput& part : partsOf(context.node)) {
        const Tensor& x = context.input(part.value);
        std::vector<std::byte> moved(x.byteCount());
        mapBytes(x, parametersOf(context, part), to, sameNumber, moved.data());
        const std::int64_t run = x.shape()[axis] * inner;
        for (std::int64_t o = 0; o < outer; ++o)
            std::copy_n(moved.begin() + o * run, run,
                        context.outputs[0].mutableBytes().begin() + o * whole[axis] * inner + at);
        at += run;
    }
    return {};
}

// Whether bytes mean the same before and after.
bool sameParameters(const ExpandContext& context, const QuantisedInput& from, const QuantisedInput& to) {
    for (const auto& [a, b] : {std::pair(from.scale, to.scale), std::pair(from.zero, to.zero)}) {
        if (!context.has(a) && !context.has(b))
            continue;
        if (!context.isConstant(a) || !context.isConstant(b) ||
            context.constant(a).asDouble(0) != context.constant(b).asDouble(0))
            return false;
    }
    return true;
}

ValueId requantized(ExpandContext& context, const QuantisedInput& from, const QuantisedInput& to) {
    return sameParameters(context, from, to)
               ? context.node.inputs[from.value]
               : quantized(context, dequantized(context, from), context.type(from.value).dtype, to);
}

Status expandQLinearConcat(ExpandContext& context) {
    const std::size_t axis =
        frontAxis(context.node.intAttr("axis", 0), context.type(kFirstPart).dims->size());
    std::vector<ValueId> parts;
    for (const QuantisedInput& part : partsOf(context.node))
        parts.push_back(requantized(context, part, kWhole));
    context.outputs[0] = context.concat(parts, static_cast<std::int64_t>(axis));
    return {};
}

// QLinearWhere: condition, x with its parameters, y with its own, and those of the result.
constexpr QuantisedInput kChosen{1, 2, 3}, kOther{4, 5, 6}, kChoice{1, 7, 8};

Status inferQLinearWhere(InferContext& in) {
    TS_TRY(requireType(
        in, 0, [](DType type) { return type == DType::boolean; }, "bool"));
    TS_TRY(checkQuantised(in, kChosen));
    TS_TRY(checkQuantised(in, kOther));
    TS_TRY(requireSameType(in, kChosen.value, kOther.value));
    TS_TRY(checkParameters(in, kChosen.value, kChoice));
    in.outputs[0] = TensorType(in.type(kChosen.value).dtype);
    if (!in.type(0).dims || !in.type(kChosen.value).dims || !in.type(kOther.value).dims)
        return {};
    const auto pair = broadcastDims(*in.type(kChosen.value).dims, *in.type(kOther.value).dims);
    in.outputs[0].dims = pair ? broadcastDims(*in.type(0).dims, *pair) : std::nullopt;
    return in.outputs[0].dims
               ? Status()
               : Status(pairError(in, kChosen.value, kOther.value, "cannot be broadcast with the condition"));
}

Status evalQLinearWhere(EvalContext& context) {
    const Shape& shape = context.outputs[0].shape();
    const ScaleAndZero to = parametersOf(context, kChoice);
    std::vector<Tensor> moved;
    for (const QuantisedInput& x : {kChosen, kOther}) {
        moved.push_back(Tensor::zeros(context.input(x.value).type(), context.input(x.value).shape()));
        mapBytes(context.input(x.value), parametersOf(context, x), to, sameNumber,
                 moved.back().mutableBytes().data());
    }
    const std::array<Shape, 3> strides{broadcastStrides(context.input(0).shape(), shape),
                                       broadcastStrides(moved[0].shape(), shape),
                                       broadcastStrides(moved[1].shape(), shape)};
    const auto out = context.outputs[0].mutableBytes();
    forEachRun<3>(shape, strides,
                  [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
                      for (std::int64_t i = 0; i < count; ++i) {
                          const bool first = context.input(0).data<bool>()[at[0] + i * step[0]];
                          out[start + i] = first ? moved[0].bytes()[at[1] + i * step[1]]
                                                 : moved[1].bytes()[at[2] + i * step[2]];
                      }
                  });
    return {};
}

Status expandQLinearWhere(ExpandContext& context) {
    context.outputs[0] = context.add("Where", {context.node.inputs[0], requantized(context, kChosen, kChoice),
                                               requantized(context, kOther, kChoice)});
    return {};
}

} // namespace

void registerContribQLinearFunctions(OperatorList& list) {
    addQLinearFunction(list, "QLinearSigmoid", "Sigmoid",
                       [](const Node&, double x) { return 1 / (1 + std::exp(-x)); });
    addQLinearFunction(list, "QLinearLeakyRelu", "LeakyRelu", [](const Node& node, double x) {
        return x < 0 ? static_cast<double>(node.floatAttr("alpha", 0.01F)) * x : x;
    });
    addExpanded(list, "QLinearSoftmax", {1, 5}, inferQLinearSoftmax, evalQLinearSoftmax,
                expandQLinearSoftmax);
    addExpanded(list, "QLinearConcat", {1, kVariadic}, inferQLinearConcat, evalQLinearConcat,
                expandQLinearConcat);
    addExpanded(list, "QLinearWhere", {1, 9}, inferQLinearWhere, evalQLinearWhere, expandQLinearWhere);
}

} // namespace tunesmith::ops
