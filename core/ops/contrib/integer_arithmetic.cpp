// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/ops/broadcast.h"
#include "core/ops/contrib/qlinear.h"

// Integers that become int32: MulInteger, MatMulInteger16 and ReduceSumInteger; and QLinearReduceMean, the
// mean of real numbers as bytes. int32 wraps around.
namespace tunesmith::ops {
namespace {

// MulInteger: a and b, each before its zero point.
struct IntegerFactor {
    std::size_t value, zero;
};
constexpr IntegerFactor kFactorA{0, 1}, kFactorB{2, 3};

Status inferMulInteger(InferContext& in) {
    for (const IntegerFactor& f : {kFactorA, kFactorB}) {
        TS_TRY(requireInputs(in, {f.value}));
        TS_TRY(requireType(in, f.value, isByte, "int8 or uint8"));
        if (!in.has(f.zero))
            continue;
        TS_TRY(requireSameType(in, f.value, f.zero));
        TS_TRY(requireOneElement(in, f.zero));
    }
    in.outputs[0] = TensorType(DType::i32);
    const auto &a = in.type(kFactorA.value).dims, &b = in.type(kFactorB.value).dims;
    if (!a || !b)
        return {};
    in.outputs[0].dims = broadcastDims(*a, *b);
    return in.outputs[0].dims
               ? Status()
               : Status(pairError(in, kFactorA.value, kFactorB.value, "cannot be broadcast together"));
}

Tensor centredFactor(const EvalContext& context, const IntegerFactor& f) {
    Tensor x = context.input(f.value).cast(DType::i32);
    const auto zero = context.has(f.zero) ? static_cast<std::int32_t>(context.input(f.zero).asInt(0)) : 0;
    for (std::int32_t& value : x.mutableData<std::int32_t>())
        value -= zero;
    return x;
}

Status evalMulInteger(EvalContext& context) {
    mapBroadcast<std::int32_t, std::int32_t>(centredFactor(context, kFactorA),
                                             centredFactor(context, kFactorB), context.outputs[0],
                                             [](std::int32_t a, std::int32_t b) { return a * b; });
    return {};
}

Status expandMulInteger(ExpandContext& context) {
    const auto centred = [&](const IntegerFactor& f) {
        const ValueId x = context.cast(context.node.inputs[f.value], DType::i32);
        if (!context.has(f.zero))
            return x;
        const ValueId zero = context.reshape(context.node.inputs[f.zero], {});
        return context.add("Sub", x, context.cast(zero, DType::i32));
    };
    context.outputs[0] = context.add("Mul", centred(kFactorA), centred(kFactorB));
    return {};
}

bool isSigned16(DType type) {
    return type == DType::i16;
}
bool isWide(DType type) {
    return type == DType::i16 || type == DType::u16;
}

// MatMulInteger16: products of 16 bits, uint32 where no operand has a sign.
DType productType16(DType a, DType b) {
    if (isSigned16(a) || isSigned16(b))
        return DType::i32;
    return a == DType::undefined || b == DType::undefined ? DType::undefined : DType::u32;
}

Status inferMatMul16(InferContext& in) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
        TS_TRY(requireType(in, i, isWide, "int16 or uint16"));
    std::vector<TensorType> types{in.type(0), in.type(1)};
    types[0].dtype = types[1].dtype = DType::i32;
    InferContext product(in.node, in.opset, std::move(types), std::vector<Tensor>(2));
    product.outputs = in.outputs;
    TS_TRY(inferAs(product, "MatMul", 2));
    in.outputs[0] = product.outputs[0];
    in.outputs[0].dtype = productType16(in.type(0).dtype, in.type(1).dtype);
    return {};
}

Status evalMatMul16(EvalContext& context) {
    const DType type = context.outputs[0].type();
    const std::vector<Tensor> inputs{context.input(0).cast(type), context.input(1).cast(type)};
    EvalContext product(context.node, context.opset, inputs);
    TS_TRY(evalAs(product, "MatMul", 2));
    context.outputs[0] = product.outputs[0];
    return {};
}

Status expandMatMul16(ExpandContext& context) {
    const DType type = context.outputType(0).dtype;
    context.outputs[0] = context.add("MatMul", context.cast(context.node.inputs[0], type),
                                     context.cast(context.node.inputs[1], type));
    return {};
}

// A reduction of ONNX of input 0 as `type`; its axes are an attribute whatever the opset.
Status inferReduction(InferContext& in, const std::string& onnx, DType type) {
    Node node = in.node;
    node.inputs.resize(1);
    TensorType x = in.type(0);
    x.dtype = type;
    InferContext reduction(node, in.opset, {x}, std::vector<Tensor>(1));
    reduction.outputs = in.outputs;
    TS_TRY(inferAs(reduction, onnx, 1));
    in.outputs[0] = reduction.outputs[0];
    return {};
}

Result<Tensor> reduced(const EvalContext& context, const std::string& onnx, const Tensor& x) {
    Node node = context.node;
    node.inputs.resize(1);
    const std::vector<Tensor> inputs{x};
    EvalContext reduction(node, context.opset, inputs);
    TS_TRY(evalAs(reduction, onnx, 1));
    return reduction.outputs[0];
}

ValueId reduced(ExpandContext& context, const std::string& onnx, ValueId x, std::int64_t inputSince) {
    std::map<std::string, Attribute> attributes{{"keepdims", context.node.intAttr("keepdims", 1)}};
    const std::vector<std::int64_t> axes = context.node.intsAttr("axes");
    std::vector<ValueId> inputs{x};
    if (!axes.empty() && context.onnxOpset >= inputSince)
        inputs.push_back(context.addConstant(Tensor::ofInts(axes)));
    else if (!axes.empty())
        attributes["axes"] = axes;
    return context.add(onnx, inputs, std::move(attributes));
}

Status inferReduceSumInteger(InferContext& in) {
    TS_TRY(requireType(in, 0, isByte, "int8 or uint8"));
    return inferReduction(in, "ReduceSum", DType::i32);
}

Status evalReduceSumInteger(EvalContext& context) {
    TS_ASSIGN(context.outputs[0], reduced(context, "ReduceSum", context.input(0).cast(DType::i32)));
    return {};
}

Status expandReduceSumInteger(ExpandContext& context) {
    context.outputs[0] = reduced(context, "ReduceSum", context.cast(context.node.inputs[0], DType::i32), 13);
    return {};
}

constexpr QuantisedInput kAveraged{0, 1, 2}, kAverage{0, 3, 4};

Status inferQLinearReduceMean(InferContext& in) {
    TS_TRY(checkQuantised(in, kAveraged));
    TS_TRY(checkParameters(in, kAveraged.value, kAverage));
    const DType type = in.type(0).dtype;
    TS_TRY(inferReduction(in, "ReduceMean", DType::f32));
    in.outputs[0].dtype = type;
    return {};
}

Status evalQLinearReduceMean(EvalContext& context) {
    const ScaleAndZero from = parametersOf(context, kAveraged), to = parametersOf(context, kAverage);
    Tensor x = context.input(0).cast(DType::f32);
    for (float& value : x.mutableData<float>())
        value = (value - static_cast<float>(from.zero)) * from.scale;
    TS_ASSIGN(const Tensor mean, reduced(context, "ReduceMean", x));
    visitQuantised(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        std::ranges::transform(
            mean.data<float>(), context.outputs[0].mutableData<T>().begin(), [&](float value) {
                return saturated<T>(std::nearbyint(value / to.scale) + static_cast<float>(to.zero));
            });
    });
    return {};
}

Status expandQLinearReduceMean(ExpandContext& context) {
    const ValueId mean = reduced(context, "ReduceMean", dequantized(context, kAveraged), 18);
    context.outputs[0] = quantized(context, mean, context.type(0).dtype, kAverage);
    return {};
}

} // namespace

void registerContribIntegerArithmetic(OperatorList& list) {
    addExpanded(list, "MulInteger", {1, 4}, inferMulInteger, evalMulInteger, expandMulInteger);
    addExpanded(list, "MatMulInteger16", {2, 2}, inferMatMul16, evalMatMul16, expandMatMul16);
    addExpanded(list, "ReduceSumInteger", {1, 1}, inferReduceSumInteger, evalReduceSumInteger,
                expandReduceSumInteger);
    addExpanded(list, "QLinearReduceMean", {1, 5}, inferQLinearReduceMean, evalQLinearReduceMean,
                expandQLinearReduceMean);
}

} // namespace tunesmith::ops
