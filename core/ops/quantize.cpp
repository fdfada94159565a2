// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/ops/quantize.h"

#include <algorithm>

#include "core/graph/stored_types.h"
#include "core/ops/kernel.h"

// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Scale and zero point are one for the tensor, one per index
// of an axis, or one per block of an axis.
namespace tunesmith::ops {

using namespace loops;

bool isByte(DType type) {
    return type == DType::i8 || type == DType::u8;
}

bool isQuantised(DType type) {
    return isByte(type) || type == DType::i16 || type == DType::u16 || (isStored(type) && type != DType::f8e8m0);
}

Expr saturated(DType type, const Expr& value) {
    Expr result;
    visitQuantised(type, [&](auto tag) {
        using Limits = std::numeric_limits<decltype(tag)>;
        const Expr low = constantOf(value->type, Limits::lowest());
        result = cast(type, min(select(value > low, value, low), constantOf(value->type, Limits::max())));
    });
    return result;
}

// (mantissa + hidden bit) * 2^exponent, where a shift makes the power.
Expr decoded(DType type, const Expr& stored) {
    const FloatFormat format = floatFormat(type);
    const Expr code = cast(DType::i64, cast(DType::u8, stored)), magnitude = binary(Op::bitAnd, code, Expr(127));
    const Expr exponent = binary(Op::shiftRight, magnitude, Expr(format.mantissaBits));
    const Expr mantissa = binary(Op::bitAnd, magnitude, Expr((1 << format.mantissaBits) - 1));
    const Expr whole = mantissa + select(exponent > Expr(0), Expr(1 << format.mantissaBits), Expr(0));
    const Expr power = cast(DType::f32, binary(Op::shiftLeft, Expr(1), max(exponent, Expr(1))));
    const auto number = [](double value) { return constantOf(DType::f32, value); };
    const Expr nan = number(std::numeric_limits<double>::quiet_NaN());
    Expr size = cast(DType::f32, whole) * power * number(std::ldexp(1.0, -format.bias - format.mantissaBits));
    if (format.infinities)
        size = select(equal(exponent, Expr(31)), select(equal(mantissa, Expr(0)), number(std::numeric_limits<double>::infinity()), nan), size);
    else if (!format.oneZero)
        size = select(equal(magnitude, Expr(static_cast<int>(format.nan))), nan, size);
    const Expr signedSize = select(code > Expr(127), -size, size);
    return format.oneZero ? select(equal(code, Expr(static_cast<int>(format.nan))), nan, signedSize) : signedSize;
}

Expr oneElement(const LowerContext& context, std::size_t index) {
    const TensorRef& tensor = context.inputs[index];
    if (context.isConstant(index)) {
        const DType type = computeType(tensor->type);
        return isFloat(type) ? constantOf(type, context.constant(index).asDouble(0))
                             : constantInt(type, context.constant(index).asInt(0));
    }
    return read(tensor, Indices(tensor->shape.size(), Expr(0)));
}

namespace {

// Which element of scale and zero point belongs to an element of x.
struct Granularity {
    enum class Kind : std::uint8_t { tensor, axis, block };
    Kind kind = Kind::tensor;
    std::size_t axis = 0;
    std::int64_t block = 1, inner = 1, extent = 1, blocks = 1;

    Granularity(const Node& node, const Shape& x, const Shape& scale) {
        if (elementCount(scale) == 1 && scale.size() <= 1)
            return;
        axis = frontAxis(node.intAttr("axis", 1), x.size());
        inner = rowMajorStrides(x)[axis];
        extent = x[axis];
        kind = Kind::axis;
        if (node.intAttr("block_size", 0) == 0)
            return;
        kind = Kind::block;
        block = node.intAttr("block_size", 0);
        blocks = scale[axis];
    }

    // visit(element, parameter) for all elements of x in order; a row is what has one index of the axis.
    template <class Visit> void forEach(std::int64_t count, const Visit& visit) const {
        const std::int64_t length = kind == Kind::tensor ? count : inner;
        for (std::int64_t row = 0, element = 0; element < count; ++row) {
            const std::int64_t at = row % extent;
            const std::int64_t first = kind == Kind::tensor ? 0 : kind == Kind::axis ? at : (row / extent * blocks + at / block) * inner;
            const std::int64_t step = kind == Kind::block ? 1 : 0;
            for (std::int64_t i = 0; i < length; ++i, ++element)
                visit(element, first + i * step);
        }
    }
    Expr read(const LowerContext& context, std::size_t input, const Indices& i) const {
        if (kind == Kind::tensor)
            return oneElement(context, input);
        Indices at{i[axis]};
        if (kind == Kind::block) {
            at = i;
            at[axis] = i[axis] / Expr(block);
        }
        return ops::read(context.inputs[input], at);
    }
};

Status checkBlocks(const OpInputs& in, const Dims& x, const Dims& scale, std::size_t axis) {
    const std::int64_t block = in.node.intAttr("block_size", 0);
    bool fits = block > 0 && x.size() == scale.size();
    for (std::size_t d = 0; fits && d < x.size(); ++d) {
        if (!x[d].known() || !scale[d].known())
            continue;
        fits = scale[d].extent == (d == axis ? x[d].extent / block + (x[d].extent % block != 0) : x[d].extent);
    }
    if (fits)
        return {};
    return pairError(in, 0, 1,
                     "do not fit: there must be one scale for every " + std::to_string(block) + " elements of axis " +
                         std::to_string(axis));
}

Status checkGranularity(const OpInputs& in) {
    if (in.has(2) && in.type(1).isStatic() && in.type(2).isStatic() && in.type(1).shape() != in.type(2).shape() &&
        (elementCount(in.type(1).shape()) != 1 || elementCount(in.type(2).shape()) != 1))
        return pairError(in, 1, 2, "do not fit: scale and zero point must have the same shape");
    if (!in.type(0).dims || !in.type(1).dims)
        return {};
    const Dims &x = *in.type(0).dims, &scale = *in.type(1).dims;
    const bool blocked = in.node.intAttr("block_size", 0) != 0;
    if (!blocked && (scale.empty() || scale == Dims{Dim(1)}))
        return {};
    TS_ASSIGN(const std::size_t axis, frontAxis(in, in.node.intAttr("axis", 1), x.size()));
    if (blocked)
        return checkBlocks(in, x, scale, axis);
    if (scale.size() != 1 || !mergeEqual(scale[0], x[axis]))
        return pairError(in, 0, 1,
                         "do not fit: there must be one scale, or one for each index of axis " + std::to_string(axis));
    return {};
}

// A scale may be a power of two, which float8e8m0 stores.
Status requireScale(const OpInputs& in) {
    return requireType(in, 1, [](DType type) { return isFloat(type) || type == DType::f8e8m0; }, "a floating-point type");
}

// The type that the node states; undefined where it states none.
Result<DType> outputDtype(const OpInputs& in) {
    const std::int64_t number = in.node.intAttr("output_dtype", 0);
    const DType type = dtypeFromNumber(number);
    if (type == DType::undefined && number != 0)
        return in.unsupported("output_dtype " + std::to_string(number) + " is no element type that is known");
    return type;
}

Status inferQuantize(InferContext& in) {
    TS_TRY(requireType(
        in, 0, [](DType type) { return isFloat(type) || type == DType::i32; }, "a floating-point type or int32"));
    TS_TRY(requireScale(in));
    TS_ASSIGN(DType type, outputDtype(in));
    if (in.has(2)) {
        TS_TRY(requireType(in, 2, isQuantised, "an integer of 16 bits or less, or a float of 8 or 4"));
        if (type != DType::undefined && type != in.type(2).dtype)
            return in.error("output_dtype is not the type of the zero point");
        type = in.type(2).dtype;
    } else if (type == DType::undefined) {
        type = DType::u8;
    } else if (!isQuantised(type)) {
        return in.unsupported("output_dtype " + std::to_string(in.node.intAttr("output_dtype", 0)) +
                              " is neither an integer of 16 bits or less nor a float of 8 or 4");
    }
    TS_TRY(checkGranularity(in));
    in.outputs[0] = TensorType(type);
    in.outputs[0].dims = in.type(0).dims;
    return {};
}

// What an integer type holds.
std::pair<float, float> quantisedRange(DType type) {
    if (isPacked(type)) {
        const bool negative = widenedType(type) == DType::i8;
        const int half = 1 << (bitSize(type) - 1);
        return {static_cast<float>(negative ? -half : 0), static_cast<float>(negative ? half - 1 : 2 * half - 1)};
    }
    std::pair<float, float> range;
    visitQuantised(type, [&](auto tag) {
        using Limits = std::numeric_limits<decltype(tag)>;
        range = {static_cast<float>(Limits::lowest()), static_cast<float>(Limits::max())};
    });
    return range;
}

// Since opset 23 the type of the scale is the precision where none is stated. Before, quotients are those of float32, as
// ONNX Runtime has them.
Node withPrecision(Node node, std::int64_t opset, DType scale) {
    constexpr std::int64_t kScaleDecides = 23;
    if (opset >= kScaleDecides && node.intAttr("precision", 0) == 0)
        node.attributes["precision"] = static_cast<std::int64_t>(scale);
    return node;
}

// The quotient in the type that `precision` asks for. One of 16-bit floats is rounded from that of float32.
class Quotient {
public:
    explicit Quotient(const Node& node) : precision_(dtypeFromNumber(node.intAttr("precision", 0))) {}
    float operator()(float x, float scale) const { return rounded(rounded(x) / rounded(scale)); }
    Expr operator()(const Expr& x, const Expr& scale) const { return rounded(rounded(x) / rounded(scale)); }

private:
    float rounded(float x) const {
        return precision_ == DType::f16    ? halfToFloat(floatToHalf(x))
               : precision_ == DType::bf16 ? bfloatToFloat(floatToBfloat(x))
                                           : x;
    }
    Expr rounded(const Expr& x) const { // code generation rounds at such a cast, the evaluator of loops does not
        const bool rounds = precision_ == DType::f16 || precision_ == DType::bf16;
        return rounds ? cast(DType::f32, cast(precision_, x)) : x;
    }
    DType precision_;
};

Status evalQuantize(EvalContext& context) {
    const DType type = context.outputs[0].type();
    const Tensor x = context.input(0).cast(DType::f32), scale = context.input(1).cast(DType::f32);
    const Tensor zero = context.has(2) ? context.input(2).cast(DType::f32) : Tensor();
    const Granularity granularity(context.node, x.shape(), scale.shape());
    const Quotient quotient(context.node);
    const bool rounds = widenedType(type) != DType::f32;
    const auto [low, high] = rounds ? quantisedRange(type) : std::pair(0.0F, 0.0F);
    Tensor numbers = Tensor::zeros(DType::f32, x.shape());
    const auto from = x.data<float>(), scales = scale.data<float>();
    const auto to = numbers.mutableData<float>();
    const auto quantised = [&, low = low, high = high](std::int64_t i, std::int64_t k) {
        const float shift = zero.absent() ? 0.0F : zero.data<float>()[zero.count() == 1 ? 0 : k];
        const float share = quotient(from[i], scales[k]);
        const float moved = (rounds ? std::nearbyint(share) : share) + shift;
        to[i] = !rounds ? moved : moved > low ? std::min(moved, high) : low;
    };
    granularity.forEach(x.count(), quantised);
    StoreRule rule;
    rule.saturate = context.node.intAttr("saturate", 1) != 0;
    context.outputs[0] = isStored(type) ? narrowStored(numbers, type, rule) : numbers.cast(type);
    return {};
}

Status quantizeLowerable(const OpInputs& in) {
    const auto type = in.has(2) ? in.type(2).dtype : dtypeFromNumber(in.node.intAttr("output_dtype", 0));
    if (isStored(type) || isStored(in.type(1).dtype))
        return in.unsupported("elements that only store are not written by kernels");
    return {};
}

Status lowerQuantize(LowerContext& context) {
    const Granularity granularity(context.node, context.inputShape(0), context.inputShape(1));
    const Quotient quotient(withPrecision(context.node, context.opset, context.type(1).dtype));
    lowerElementwise(context, "quantize", [&](const Indices& i) {
        const Expr x = cast(DType::f32, read(context.inputs[0], i));
        const Expr rounded = unary(Op::round, quotient(x, cast(DType::f32, granularity.read(context, 1, i))));
        if (!context.has(2))
            return saturated(context.outputType(), rounded);
        return saturated(context.outputType(), rounded + cast(DType::f32, granularity.read(context, 2, i)));
    });
    return {};
}

Status inferDequantize(InferContext& in) {
    TS_TRY(requireType(
        in, 0, [](DType type) { return isQuantised(type) || type == DType::i32; },
        "an integer of 16 bits or less, int32, or a float of 8 or 4 bits"));
    TS_TRY(requireScale(in));
    if (in.has(2))
        TS_TRY(requireSameType(in, 0, 2));
    TS_TRY(checkGranularity(in));
    TS_ASSIGN(const DType stated, outputDtype(in));
    const DType type = stated != DType::undefined ? stated : in.type(1).dtype;
    if (type != DType::undefined && !isFloat(type))
        return in.error("output_dtype must be a floating-point type that is computed in");
    in.outputs[0] = TensorType(type);
    in.outputs[0].dims = in.type(0).dims;
    return {};
}

Status evalDequantize(EvalContext& context) {
    const Tensor x = context.input(0).cast(widenedType(context.input(0).type()));
    const Tensor scale = context.input(1).cast(context.outputs[0].type());
    const Granularity granularity(context.node, x.shape(), scale.shape());
    const Tensor zero = context.has(2) ? context.input(2).cast(x.type()) : Tensor();
    visitNumeric(x.type(), [&](auto tag) {
        using T = decltype(tag);
        using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
        visitFloat(scale.type(), [&](auto real) {
            using R = decltype(real);
            const T* const from = x.data<T>().data();
            const T* const zeros = zero.absent() ? nullptr : zero.data<T>().data();
            const R* const scales = scale.data<R>().data();
            R* const to = context.outputs[0].mutableData<R>().data();
            const std::int64_t moving = zero.count() == 1 ? 0 : 1;
            granularity.forEach(x.count(), [&](std::int64_t i, std::int64_t k) {
                const Wide shift = zeros ? static_cast<Wide>(zeros[k * moving]) : Wide{};
                to[i] = static_cast<R>(static_cast<Wide>(from[i]) - shift) * scales[k];
            });
        });
    });
    return {};
}

Status lowerDequantize(LowerContext& context) {
    const Granularity granularity(context.node, context.inputShape(0), context.inputShape(1));
    const DType type = computeType(context.outputType()), stored = context.type(0).dtype;
    const auto number = [&](const Expr& element) { return isStored(stored) ? decoded(stored, element) : cast(DType::i32, element); };
    lowerElementwise(context, "dequantize", [&](const Indices& i) {
        Expr value = number(load(context.inputs[0], i));
        if (context.has(2))
            value = value - number(granularity.read(context, 2, i));
        return narrow(type, value) * narrow(type, granularity.read(context, 1, i));
    });
    return {};
}

Status dequantizeLowerable(const OpInputs& in) {
    return isStored(in.type(1).dtype) ? Status(in.unsupported("a scale that only stores is not read by kernels")) : Status();
}

// Packed elements are apart before they are dequantised.
Status unpackFirst(ExpandContext& context) {
    if (!isPackedConstant(context) || (context.has(2) && !context.isConstant(2)))
        return context.unsupported("its inputs are no constants of packed elements");
    std::vector<ValueId> inputs{unpackedConstant(context), context.node.inputs[1]};
    if (context.has(2))
        inputs.push_back(context.addConstant(context.constant(2).cast(unpackedType(context.type(0).dtype))));
    context.outputs[0] = context.add("DequantizeLinear", inputs, context.node.attributes);
    return {};
}

Status inferDynamicQuantize(InferContext& in) {
    TS_TRY(requireType(
        in, 0, [](DType type) { return type == DType::f32; }, "float32"));
    in.outputs[0] = TensorType(DType::u8);
    in.outputs[0].dims = in.type(0).dims;
    const DType scalars[] = {DType::f32, DType::u8};
    for (std::size_t i = 1; i < in.outputs.size(); ++i)
        in.outputs[i] = TensorType(scalars[i - 1], Shape{});
    return {};
}

Status evalDynamicQuantize(EvalContext& context) {
    const auto x = context.input(0).data<float>();
    float low = 0, high = 0;
    for (const float value : x) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    const float scale = low == high ? 1 : (high - low) / 255;
    const float zero = std::nearbyint(std::min(std::max(-low / scale, 0.0F), 255.0F));
    for (std::size_t i = 0; i < x.size() && context.wanted(0); ++i)
        context.outputs[0].mutableData<std::uint8_t>()[i] =
            saturated<std::uint8_t>(std::nearbyint(x[i] / scale) + zero);
    if (context.wanted(1))
        context.outputs[1].mutableData<float>()[0] = scale;
    if (context.wanted(2))
        context.outputs[2].mutableData<std::uint8_t>()[0] = saturated<std::uint8_t>(zero);
    return {};
}

Status lowerDynamicQuantize(LowerContext& context) {
    const TensorRef x = context.inputs[0];
    std::vector<std::size_t> axes;
    for (std::size_t d = 0; d < x->shape.size(); ++d)
        axes.push_back(d);
    const auto bound = [&](const char* name, Reduction reduction) { // of the numbers among them
        return reduceOver(context, name, DType::f32, reduction, x->shape, axes, [&](const Indices& i) {
            return select(unary(Op::isNan, load(x, i)), constantOf(DType::f32, 0), load(x, i));
        });
    };
    const TensorRef lowest = bound("range_min", Reduction::min), highest = bound("range_max", Reduction::max);
    const Indices only(axes.size(), Expr(0));
    const Expr none = constantOf(DType::f32, 0), low = min(load(lowest, only), none),
               high = max(load(highest, only), none);
    const TensorRef scale = context.add(compute("scale", DType::f32, {}, [&](const Indices&) {
        return select(binary(Op::equal, low, high), constantOf(DType::f32, 1),
                      (high - low) / constantOf(DType::f32, 255));
    }));
    const TensorRef zero = context.add(compute("zero_point", DType::f32, {}, [&](const Indices&) {
        const Expr raw = -low / load(scale, {});
        return unary(Op::round, min(max(raw, none), constantOf(DType::f32, 255)));
    }));
    lowerElementwise(context, "quantize", [&](const Indices& i) {
        return saturated(DType::u8, unary(Op::round, load(x, i) / load(scale, {})) + load(zero, {}));
    });
    if (context.outputs.size() > 1)
        context.outputs[1] = scale;
    if (context.outputs.size() > 2)
        context.finish(2, compute("stored_zero_point", DType::u8, {},
                                  [&](const Indices&) { return saturated(DType::u8, load(zero, {})); }));
    return {};
}

// Kernels see 16-bit floats widened: the precision that follows from the scale's type is stated before.
Status evalWithPrecision(EvalContext& context, const std::function<Status(EvalContext&)>& eval) {
    const DType scale = context.has(1) ? context.input(1).type() : DType::undefined;
    const Node stated = withPrecision(context.node, context.opset, scale);
    EvalContext again(stated, context.opset, context.inputs);
    TS_TRY(eval(again));
    context.outputs = std::move(again.outputs);
    return {};
}

} // namespace

void registerQuantize(OperatorList& list) {
    addOperator(list, "QuantizeLinear", Fusion::elementwise, 10, {2, 3}, inferQuantize, evalQuantize, lowerQuantize,
                quantizeLowerable);
    list.back().eval = [eval = list.back().eval](EvalContext& context) { return evalWithPrecision(context, eval); };
    addOperator(list, "DequantizeLinear", Fusion::elementwise, 10, {2, 3}, inferDequantize, evalDequantize, lowerDequantize,
                dequantizeLowerable);
    list.back().expand = unpackFirst;
    addOperator(list, "DynamicQuantizeLinear", Fusion::opaque, 11, {1, 1, 3}, inferDynamicQuantize, evalDynamicQuantize,
                lowerDynamicQuantize);
}

} // namespace tunesmith::ops
