// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/base/scratch.h"
#include "core/ops/convolution.h"
#include "core/ops/kernel.h"
#include "core/ops/matmul.h"
#include "core/ops/quantize.h"

// MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv: products of bytes summed in int32. Scales and zero points are
// one for the tensor, one per row of a left matrix, per column of a right one, or per output channel of convolution
// weights.
namespace tunesmith::ops {
namespace {

using namespace loops;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1); // an input that the operator does not have

// Where an operator has its inputs.
struct Operand {
    std::size_t value, zero, scale = kNowhere;
};
struct Layout {
    Operand a, b;
    std::size_t resultScale = kNowhere, resultZero = kNowhere, bias = kNowhere;
    bool convolution = false;
    bool requantises() const { return resultScale != kNowhere; }
};

constexpr Layout kMatMulInteger{{0, 2}, {1, 3}};
constexpr Layout kConvInteger{{0, 2}, {1, 3}, kNowhere, kNowhere, kNowhere, true};
constexpr Layout kQLinearMatMul{{0, 2, 1}, {3, 5, 4}, 6, 7};
constexpr Layout kQLinearConv{{0, 2, 1}, {3, 5, 4}, 6, 7, 8, true};

// The shape under which a parameter broadcasts to the operand that it belongs to.
enum class Side : std::uint8_t { left, right };
Shape alignedShape(const Layout& layout, Side side, const Shape& parameter, std::size_t rank) {
    if (elementCount(parameter) == 1)
        return {};
    Shape aligned = parameter;
    if (layout.convolution)
        aligned.resize(rank, 1);
    else if (side == Side::left && parameter.size() == 1)
        aligned.push_back(1);
    return aligned;
}

Status checkParameter(const OpInputs& in, const Layout& layout, Side side, std::size_t value, std::size_t parameter) {
    if (!in.has(parameter) || !in.type(parameter).isStatic() || !in.type(value).dims)
        return {};
    const Shape shape = in.type(parameter).shape();
    const Dims& dims = *in.type(value).dims;
    if (elementCount(shape) == 1)
        return {};
    const bool vector = shape.size() == 1 && dims.size() >= 2;
    if (layout.convolution) {
        if (side == Side::right && vector && mergeEqual(dims[0], Dim(shape[0])))
            return {};
        return pairError(in, value, parameter,
                         side == Side::left ? "do not fit: one value for the whole tensor is needed"
                                            : "do not fit: one value per output channel is needed");
    }
    const std::size_t shared = dims.size() - (side == Side::left ? 1 : 2); // the dimension that is summed over
    const Shape aligned = alignedShape(layout, side, shape, dims.size());
    const bool matrix = vector || (shape.size() == dims.size() && dims.size() >= 2 && shape[shared] == 1);
    if (matrix && broadcastsTo(knownDims(aligned), dims))
        return {};
    return pairError(in, value, parameter,
                     side == Side::left ? "do not fit: one value per row is needed"
                                        : "do not fit: one value per column is needed");
}

Status checkOperand(const OpInputs& in, const Layout& layout, Side side) {
    const Operand& operand = side == Side::left ? layout.a : layout.b;
    const Operand& other = side == Side::left ? layout.b : layout.a;
    TS_TRY(requireType(in, operand.value, isByte, "int8 or uint8"));
    if (in.has(operand.zero))
        TS_TRY(requireSameType(in, operand.value, operand.zero));
    TS_TRY(checkParameter(in, layout, side, operand.value, operand.zero));
    if (operand.scale == kNowhere)
        return {};
    TS_TRY(requireFloat(in, operand.scale));
    if (!layout.convolution && in.type(other.value).dims && in.type(other.value).dims->size() < 2)
        return requireOneElement(in, operand.scale); // a vector's dimension does not appear in the result
    return checkParameter(in, layout, side, operand.value, operand.scale);
}

Status inferProduct(InferContext& in, const Layout& layout) {
    TS_TRY(checkOperand(in, layout, Side::left));
    TS_TRY(checkOperand(in, layout, Side::right));
    in.outputs[0] = TensorType(DType::i32);
    if (layout.requantises()) {
        TS_TRY(requireFloat(in, layout.resultScale));
        TS_TRY(requireOneElement(in, layout.resultScale));
        TS_TRY(requireType(in, layout.resultZero, isByte, "int8 or uint8"));
        TS_TRY(requireOneElement(in, layout.resultZero));
        in.outputs[0] = TensorType(in.type(layout.resultZero).dtype);
    }
    if (in.has(layout.bias))
        TS_TRY(requireType(
            in, layout.bias, [](DType type) { return type == DType::i32; }, "int32"));
    if (layout.convolution) {
        TS_ASSIGN(in.outputs[0].dims, convDims(in, {layout.a.value, layout.b.value, layout.bias}));
    } else {
        TS_ASSIGN(in.outputs[0].dims, matMulDims(in, layout.a.value, layout.b.value));
    }
    return {};
}

// Sums wrap around; in C++ only those of unsigned numbers may.
using Sum = std::uint32_t;

// value - zero point
Scratch<Sum> centred(const EvalContext& context, const Layout& layout, Side side) {
    const Operand& operand = side == Side::left ? layout.a : layout.b;
    const Tensor value = context.input(operand.value).cast(DType::i32);
    Tensor result = Tensor::zeros(DType::i32, value.shape());
    Tensor zero = Tensor::zeros(DType::i32, {});
    if (context.has(operand.zero)) {
        zero = context.input(operand.zero).cast(DType::i32);
        zero = zero.reshaped(alignedShape(layout, side, zero.shape(), value.rank()));
    }
    mapBroadcast<std::int32_t, std::int32_t>(value, zero, result, [](std::int32_t x, std::int32_t z) { return x - z; });
    return {result.data<std::int32_t>().begin(), result.data<std::int32_t>().end()};
}

Result<Scratch<Sum>> sumsOf(const EvalContext& context, const Layout& layout, const Shape& out) {
    const Shape &a = context.input(layout.a.value).shape(), &b = context.input(layout.b.value).shape();
    const Scratch<Sum> left = centred(context, layout, Side::left), right = centred(context, layout, Side::right);
    Scratch<Sum> sums(static_cast<std::size_t>(elementCount(out)));
    if (layout.convolution) {
        TS_ASSIGN(const WindowGeometry geometry, convGeometry(context.node, a, b));
        const ConvSizes sizes(geometry, a, b, context.node.intAttr("group", 1));
        convolve<Sum>(geometry, sizes, left.data(), right.data(), sums.data());
    } else {
        const MatMulShape s(a, b, out);
        forEachProduct(s, [&](std::int64_t atA, std::int64_t atB, std::int64_t atY) {
            multiplyAccumulate<Sum>(s.m, s.n, s.k, left.data() + atA, s.k, 1, right.data() + atB, s.n,
                                    sums.data() + atY, s.n);
        });
    }
    if (!context.has(layout.bias))
        return sums;
    const std::int64_t positions = elementCount(std::span(out).subspan(2));
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::int64_t channel = static_cast<std::int64_t>(i) / positions % out[1];
        sums[i] += static_cast<Sum>(context.input(layout.bias).data<std::int32_t>()[static_cast<std::size_t>(channel)]);
    }
    return sums;
}

// left scale * right scale / result scale, for each element of the result.
Tensor factorOf(const EvalContext& context, const Layout& layout, const Shape& out) {
    const auto scaleOf = [&](Side side, const Operand& operand) {
        const Tensor scale = context.input(operand.scale).cast(DType::f32);
        Shape shape = alignedShape(layout, side, scale.shape(), context.input(operand.value).rank());
        if (layout.convolution && !shape.empty())
            shape.erase(shape.begin() + 1); // [M, 1, 1...] of the weights is [M, 1...] of the result
        return scale.reshaped(shape);
    };
    const Tensor a = scaleOf(Side::left, layout.a), b = scaleOf(Side::right, layout.b);
    Tensor factor = Tensor::zeros(DType::f32, out);
    const float result = context.input(layout.resultScale).cast(DType::f32).data<float>()[0];
    mapBroadcast<float, float>(a, b, factor, [result](float x, float y) { return x * y / result; });
    return factor;
}

Status evalProduct(EvalContext& context, const Layout& layout) {
    Tensor& out = context.outputs[0];
    TS_ASSIGN(const Scratch<Sum> sums, sumsOf(context, layout, out.shape()));
    if (!layout.requantises()) {
        std::transform(sums.begin(), sums.end(), out.mutableData<std::int32_t>().begin(),
                       [](Sum sum) { return static_cast<std::int32_t>(sum); });
        return {};
    }
    const Tensor factor = factorOf(context, layout, out.shape());
    const auto zero = static_cast<float>(context.input(layout.resultZero).asInt(0));
    visitQuantised(out.type(), [&](auto tag) {
        using T = decltype(tag);
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const float real = static_cast<float>(static_cast<std::int32_t>(sums[i])) * factor.data<float>()[i];
            out.mutableData<T>()[i] = saturated<T>(std::nearbyint(real) + zero);
        }
    });
    return {};
}

// Zero points per channel are mostly the same for all of them.
bool isUniform(const Tensor& tensor) {
    const auto bytes = tensor.bytes();
    const std::size_t width = byteSize(tensor.type());
    return !bytes.empty() && std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(width), bytes.end(), bytes.begin());
}

// The element of a parameter that belongs to an index of the operand.
Expr parameterAt(const LowerContext& context, const Layout& layout, Side side, std::size_t parameter,
                 const Shape& operand, const Indices& i) {
    const Shape& shape = context.inputShape(parameter);
    if (elementCount(shape) == 1 || (context.isConstant(parameter) && isUniform(context.constant(parameter))))
        return oneElement(context, parameter);
    Indices at = broadcastIndices(alignedShape(layout, side, shape, operand.size()), operand, i);
    at.resize(shape.size());
    return load(context.inputs[parameter], at);
}

Expr centredAt(const LowerContext& context, const Layout& layout, Side side, const Indices& i) {
    const Operand& operand = side == Side::left ? layout.a : layout.b;
    const Expr value = cast(DType::i32, load(context.inputs[operand.value], i));
    if (!context.has(operand.zero))
        return value;
    const Shape& shape = context.inputShape(operand.value);
    return value - cast(DType::i32, parameterAt(context, layout, side, operand.zero, shape, i));
}

Expr factorAt(const LowerContext& context, const Layout& layout, const Indices& i) {
    const auto scaleAt = [&](Side side, const Operand& operand) {
        const std::size_t parameter = operand.scale;
        if (layout.convolution && elementCount(context.inputShape(parameter)) > 1)
            return cast(DType::f32, load(context.inputs[parameter], {i[1]}));
        const Shape out = context.outputShape();
        return cast(DType::f32, parameterAt(context, layout, side, parameter, out, i));
    };
    return scaleAt(Side::left, layout.a) * scaleAt(Side::right, layout.b) /
           cast(DType::f32, oneElement(context, layout.resultScale));
}

Status lowerProduct(LowerContext& context, const Layout& layout) {
    const Shape a = context.inputShape(layout.a.value), b = context.inputShape(layout.b.value);
    const auto left = [&](const Indices& i) { return centredAt(context, layout, Side::left, i); };
    const auto right = [&](const Indices& i) { return centredAt(context, layout, Side::right, i); };
    Stage stage;
    if (layout.convolution) {
        TS_ASSIGN(const WindowGeometry geometry, convGeometry(context.node, a, b));
        const ConvSizes sizes(geometry, a, b, context.node.intAttr("group", 1));
        stage = convStage(context, geometry, sizes, DType::i32, left, right);
    } else {
        stage = matMulStage(a, b, context.outputShape(), DType::i32, left, right);
    }
    if (!layout.requantises()) {
        finishReduction(context, std::move(stage));
        return {};
    }
    const TensorRef sums = context.add(std::move(stage));
    lowerElementwise(context, "requantize", [&](const Indices& i) {
        const Expr sum =
            context.has(layout.bias) ? load(sums, i) + load(context.inputs[layout.bias], {i[1]}) : load(sums, i);
        const Expr rounded = unary(Op::round, cast(DType::f32, sum) * factorAt(context, layout, i));
        return saturated(context.outputType(), rounded + cast(DType::f32, oneElement(context, layout.resultZero)));
    });
    return {};
}

void addProduct(OperatorList& list, const char* name, const Layout& layout, const Arity& arity) {
    addOperator(
        list, name, Fusion::anchor, 10, arity, [layout](InferContext& in) { return inferProduct(in, layout); },
        [layout](EvalContext& context) { return evalProduct(context, layout); },
        [layout](LowerContext& context) { return lowerProduct(context, layout); });
}

} // namespace

void registerQuantizedProduct(OperatorList& list) {
    addProduct(list, "MatMulInteger", kMatMulInteger, {2, 4});
    addProduct(list, "ConvInteger", kConvInteger, {2, 4});
    addProduct(list, "QLinearMatMul", kQLinearMatMul, {8, 8});
    addProduct(list, "QLinearConv", kQLinearConv, {8, 9});
}

} // namespace tunesmith::ops
