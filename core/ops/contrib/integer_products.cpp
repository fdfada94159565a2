// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/ops/contrib/qlinear.h"
#include "core/ops/matmul.h"

// Products of bytes, summed in int32, that become real numbers: MatMulIntegerToFloat, and
// DynamicQuantizeMatMul, whose left operand is quantised first as DynamicQuantizeLinear says. QGemm gives
// real numbers or quantises them.
namespace tunesmith::ops {
namespace {

constexpr std::size_t kNoInput = static_cast<std::size_t>(-1); // one that an operator does not have

// Where the two products have their inputs.
struct FloatProduct {
    std::size_t a = 0, b = 1, aScale, bScale, aZero, bZero, bias;
    bool quantises() const { return aScale == kNoInput; }
};
constexpr FloatProduct kDynamicProduct{0, 1, kNoInput, 2, kNoInput, 3, 4},
    kIntegerProduct{0, 1, 2, 3, 4, 5, 6};

// One element, or one for each column of the right operand.
Status requirePerColumn(const OpInputs& in, std::size_t index, const std::optional<Dim>& columns,
                        const char* meaning) {
    const auto& dims = in.has(index) ? in.type(index).dims : std::nullopt;
    const bool single = dims && std::ranges::all_of(*dims, [](const Dim& dim) { return dim == Dim(1); });
    return single || !columns ? Status() : requireDims(in, index, {*columns}, meaning);
}

Status checkRight(const OpInputs& in, std::size_t b, std::size_t scale, std::size_t zero,
                  const std::optional<Dim>& columns) {
    TS_TRY(requireType(in, b, isByte, "int8 or uint8"));
    TS_TRY(requireFloat(in, scale));
    TS_TRY(requirePerColumn(in, scale, columns, "one scale for each column"));
    if (in.has(zero))
        TS_TRY(requireSameType(in, b, zero));
    return requirePerColumn(in, zero, columns, "one zero point for each column");
}

Status inferFloatProduct(InferContext& in, const FloatProduct& p) {
    TS_TRY(requireInputs(in, {p.a, p.b, p.bScale}));
    std::optional<Dim> columns;
    if (in.type(p.b).dims && !in.type(p.b).dims->empty())
        columns = in.type(p.b).dims->back();
    TS_TRY(checkRight(in, p.b, p.bScale, p.bZero, columns));
    if (p.quantises())
        TS_TRY(requireType(
            in, p.a, [](DType type) { return type == DType::f32; }, "float32"));
    else
        TS_TRY(checkQuantised(in, {p.a, p.aScale, p.aZero}));
    in.outputs[0] = TensorType(in.type(p.bScale).dtype);
    if (in.has(p.bias)) {
        TS_TRY(requireSameType(in, p.bScale, p.bias));
        if (columns)
            TS_TRY(requireDims(in, p.bias, {*columns}, "one bias for each column"));
    }
    TS_ASSIGN(in.outputs[0].dims, matMulDims(in, p.a, p.b));
    return {};
}

CentredBytes storedLeft(const EvalContext& context, const QuantisedInput& input) {
    const ScaleAndZero from = parametersOf(context, input);
    CentredBytes left{context.input(input.value).cast(DType::i32), from.scale};
    for (std::int32_t& value : left.values.mutableData<std::int32_t>())
        value -= from.zero;
    return left;
}

// Reads a parameter for a column.
template <class T>
T columnValue(const EvalContext& context, std::size_t index, std::int64_t column, T fallback) {
    if (!context.has(index))
        return fallback;
    return static_cast<T>(context.input(index).asDouble(context.input(index).count() == 1 ? 0 : column));
}

Status evalFloatProduct(EvalContext& context, const FloatProduct& p) {
    const CentredBytes left =
        p.quantises() ? dynamicBytes(context.input(p.a)) : storedLeft(context, {p.a, p.aScale, p.aZero});
    const Tensor right = context.input(p.b).cast(DType::i32);
    Tensor out = Tensor::zeros(DType::f32, context.outputs[0].shape());
    const MatMulShape s(left.values.shape(), right.shape(), out.shape());
    const auto a = left.values.data<std::int32_t>(), b = right.data<std::int32_t>();
    const auto y = out.mutableData<float>();
    forEachProduct(s, [&](std::int64_t atA, std::int64_t atB, std::int64_t atY) {
        for (std::int64_t i = 0; i < s.m * s.n; ++i) {
            const std::int64_t column = i % s.n;
            const auto zero = columnValue<std::int32_t>(context, p.bZero, column, 0);
            std::uint32_t sum = 0; // wraps
            for (std::int64_t k = 0; k < s.k; ++k)
                sum += static_cast<std::uint32_t>(a[atA + i / s.n * s.k + k] *
                                                  (b[atB + k * s.n + column] - zero));
            const float product = static_cast<float>(static_cast<std::int32_t>(sum)) *
                                  (left.scale * columnValue<float>(context, p.bScale, column, 1));
            y[atY + i] =
                context.has(p.bias) ? product + columnValue<float>(context, p.bias, column, 0) : product;
        }
    });
    context.outputs[0] = out.cast(context.outputs[0].type());
    return {};
}

// A zero point of the operand's type, where it is left out.
ValueId zeroOr(ExpandContext& context, std::size_t index, DType type) {
    return context.has(index) ? context.node.inputs[index] : context.addConstant(Tensor::zeros(type, {}));
}

// A parameter of one element as a scalar, whatever its shape.
ValueId asScalar(ExpandContext& context, std::size_t index) {
    const bool single = elementCount(context.type(index).shape()) == 1;
    return single ? context.reshape(context.node.inputs[index], {}) : context.node.inputs[index];
}

Status expandFloatProduct(ExpandContext& context, const FloatProduct& p) {
    ValueId a = context.node.inputs[p.a], aScale, aZero;
    if (p.quantises()) {
        const auto quantised = context.addMany("DynamicQuantizeLinear", {a}, {}, 3);
        a = quantised[0];
        aScale = quantised[1];
        aZero = quantised[2];
    } else {
        aScale = asScalar(context, p.aScale);
        aZero = zeroOr(context, p.aZero, context.type(p.a).dtype);
    }
    const DType type = context.outputType(0).dtype, wide = computeType(type);
    const ValueId sum = context.add("MatMulInteger", {a, context.node.inputs[p.b], aZero,
                                                      zeroOr(context, p.bZero, context.type(p.b).dtype)});
    const auto widened = [&](ValueId scale, DType from) {
        return from == wide ? scale : context.cast(scale, wide);
    };
    const ValueId scale =
        context.add("Mul", widened(aScale, p.quantises() ? DType::f32 : context.type(p.aScale).dtype),
                    widened(asScalar(context, p.bScale), type));
    ValueId y = context.add("Mul", context.cast(sum, wide), scale);
    if (context.has(p.bias))
        y = context.add("Add", y, widened(context.node.inputs[p.bias], type));
    context.outputs[0] = context.narrowed(y, type);
    return {};
}

// QGemm.
constexpr QuantisedInput kGemmA{0, 1, 2}, kGemmB{3, 4, 5}, kGemmY{0, 7, 8};
constexpr std::size_t kGemmC = 6;

bool transposes(const Node& node, const char* attribute) {
    return node.intAttr(attribute, 0) != 0;
}

Status checkQGemmResult(InferContext& in) {
    in.outputs[0] = TensorType(in.type(kGemmA.scale).dtype);
    if (in.has(kGemmY.scale) != in.has(kGemmY.zero))
        return in.error("the scale and the zero point of the result must be given together");
    if (!in.has(kGemmY.scale))
        return {};
    TS_TRY(requireFloat(in, kGemmY.scale));
    TS_TRY(requireOneElement(in, kGemmY.scale));
    TS_TRY(requireType(in, kGemmY.zero, isByte, "int8 or uint8"));
    in.outputs[0] = TensorType(in.type(kGemmY.zero).dtype);
    return requireOneElement(in, kGemmY.zero);
}

Status inferQGemm(InferContext& in) {
    TS_TRY(checkQuantised(in, kGemmA));
    TS_TRY(requireInputs(in, {kGemmB.value, kGemmB.scale}));
    for (const std::size_t i : {kGemmA.value, kGemmB.value})
        TS_TRY(requireRank(in, i, 2, "rows and columns"));
    const bool transA = transposes(in.node, "transA"), transB = transposes(in.node, "transB");
    const std::optional<Dim> rows = dimOf(in, kGemmA.value, transA ? 1 : 0),
                             columns = dimOf(in, kGemmB.value, transB ? 0 : 1);
    TS_TRY(checkRight(in, kGemmB.value, kGemmB.scale, kGemmB.zero, columns));
    TS_TRY(checkQGemmResult(in));
    if (!rows || !columns)
        return {};
    TS_TRY(requireEqual(in, *dimOf(in, kGemmA.value, transA ? 0 : 1),
                        *dimOf(in, kGemmB.value, transB ? 1 : 0),
                        "inputs " + in.type(kGemmA.value).text() + " and " + in.type(kGemmB.value).text() +
                            " do not fit: the inner dimensions differ"));
    in.outputs[0].dims = Dims{*rows, *columns};
    if (!in.has(kGemmC))
        return {};
    TS_TRY(requireInt32(in, kGemmC));
    if (in.type(kGemmC).dims && !broadcastsTo(*in.type(kGemmC).dims, *in.outputs[0].dims))
        return in.error("input 6 is " + in.type(kGemmC).text() + ", which does not broadcast to the product");
    return {};
}

Tensor centredMatrix(const EvalContext& context, const QuantisedInput& input, bool transposed) {
    const Tensor x = context.input(input.value).cast(DType::i32);
    return transposed ? permuted(x, {1, 0}) : x;
}

// The int32 sums with C, which wrap around.
std::vector<std::int32_t> gemmSums(const EvalContext& context, const Shape& shape) {
    const Tensor a = centredMatrix(context, kGemmA, transposes(context.node, "transA"));
    const Tensor b = centredMatrix(context, kGemmB, transposes(context.node, "transB"));
    Tensor sums = Tensor::zeros(DType::i32, shape);
    const auto aZero = columnValue<std::int32_t>(context, kGemmA.zero, 0, 0);
    const std::int64_t k = a.shape()[1], n = shape[1];
    for (std::int64_t i = 0; i < sums.count(); ++i) {
        const auto bZero = columnValue<std::int32_t>(context, kGemmB.zero, i % n, 0);
        std::uint32_t sum = 0;
        for (std::int64_t j = 0; j < k; ++j)
            sum += static_cast<std::uint32_t>((a.data<std::int32_t>()[i / n * k + j] - aZero) *
                                              (b.data<std::int32_t>()[j * n + i % n] - bZero));
        sums.mutableData<std::int32_t>()[i] = static_cast<std::int32_t>(sum);
    }
    if (context.has(kGemmC))
        mapBroadcast<std::int32_t, std::int32_t>(
            sums, context.input(kGemmC), sums, [](std::int32_t x, std::int32_t c) {
                return wrapping(x, c, [](auto p, auto q) { return p + q; });
            });
    return {sums.data<std::int32_t>().begin(), sums.data<std::int32_t>().end()};
}

Status evalQGemm(EvalContext& context) {
    Tensor& out = context.outputs[0];
    const std::vector<std::int32_t> sums = gemmSums(context, out.shape());
    const float alpha = context.node.floatAttr("alpha", 1), aScale = parametersOf(context, kGemmA).scale;
    const bool quantises = context.has(kGemmY.scale);
    const ScaleAndZero to = quantises ? parametersOf(context, kGemmY) : ScaleAndZero();
    const auto real = [&](std::size_t i) {
        float factor =
            alpha * aScale *
            columnValue<float>(context, kGemmB.scale, static_cast<std::int64_t>(i) % out.shape()[1], 1);
        if (quantises)
            factor /= to.scale;
        return static_cast<float>(sums[i]) * factor;
    };
    if (!quantises) {
        for (std::size_t i = 0; i < sums.size(); ++i)
            out.mutableData<float>()[i] = real(i);
        return {};
    }
    visitQuantised(out.type(), [&](auto tag) {
        using T = decltype(tag);
        for (std::size_t i = 0; i < sums.size(); ++i)
            out.mutableData<T>()[i] = saturated<T>(std::nearbyint(real(i)) + static_cast<float>(to.zero));
    });
    return {};
}

ValueId gemmOperand(ExpandContext& context, const QuantisedInput& input, const char* trans) {
    const ValueId x = context.node.inputs[input.value];
    return transposes(context.node, trans) ? context.transpose(x, {1, 0}) : x;
}

Status expandQGemm(ExpandContext& context) {
    const ValueId a = gemmOperand(context, kGemmA, "transA"), b = gemmOperand(context, kGemmB, "transB");
    const ValueId bZero = context.has(kGemmB.zero)
                              ? asScalar(context, kGemmB.zero)
                              : zeroOr(context, kGemmB.zero, context.type(kGemmB.value).dtype);
    ValueId sum = context.add("MatMulInteger",
                              {a, b, zeroOr(context, kGemmA.zero, context.type(kGemmA.value).dtype), bZero});
    if (context.has(kGemmC))
        sum = context.add("Add", sum, context.node.inputs[kGemmC]);
    const auto scale = [&](std::size_t index) { return context.cast(asScalar(context, index), DType::f32); };
    ValueId factor = context.add("Mul", context.number(DType::f32, context.node.floatAttr("alpha", 1)),
                                 scale(kGemmA.scale));
    factor = context.add("Mul", factor, scale(kGemmB.scale));
    const bool quantises = context.has(kGemmY.scale);
    if (quantises)
        factor = context.add("Div", factor, scale(kGemmY.scale));
    ValueId y = context.add("Mul", context.cast(sum, DType::f32), factor);
    if (quantises) {
        y = context.add("Add", context.add("Round", {y}),
                        context.cast(asScalar(context, kGemmY.zero), DType::f32));
        const bool isSignedByte = context.outputType(0).dtype == DType::i8;
        y = context.clip(y, DType::f32, isSignedByte ? -128 : 0, isSignedByte ? 127 : 255);
    }
    context.outputs[0] = context.cast(y, context.outputType(0).dtype);
    return {};
}

void addFloatProduct(OperatorList& list, const char* name, const Arity& arity, const FloatProduct& product) {
    addExpanded(
        list, name, arity, [product](InferContext& in) { return inferFloatProduct(in, product); },
        [product](EvalContext& context) { return evalFloatProduct(context, product); },
        [product](ExpandContext& context) { return expandFloatProduct(context, product); });
}

} // namespace

void registerContribIntegerProducts(OperatorList& list) {
    addFloatProduct(list, "DynamicQuantizeMatMul", {1, 5}, kDynamicProduct);
    addFloatProduct(list, "MatMulIntegerToFloat", {1, 7}, kIntegerProduct);
    addExpanded(list, "QGemm", {1, 9}, inferQGemm, evalQGemm, expandQGemm);
}

} // namespace tunesmith::ops
