// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/loops/scalar_arithmetic.h"
#include "core/ops/broadcast.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/node_steps.h"
#include "core/ops/rules.h"

// Arithmetic under broadcasting. Integers wrap around; integer division truncates, and division by zero gives zero.
namespace tunesmith::ops {
namespace {

using namespace loops;

Status inferBroadcast(InferContext& in) {
    for (std::size_t i = 0; i < in.count(); ++i) {
        if (!in.has(i))
            return in.error("input " + std::to_string(i) + " is missing");
        TS_TRY(requireNumeric(in, i));
        if (i > 0)
            TS_TRY(requireSameType(in, 0, i));
    }
    return inferBroadcastOutput(in, in.type(0).dtype);
}

template <class Fn> Kernel binaryKernel(Fn fn) {
    return [fn](EvalContext& context) -> Status {
        visitNumeric(context.outputs[0].type(), [&](auto tag) {
            using T = decltype(tag);
            mapBroadcast<T, T>(context.input(0), context.input(1), context.outputs[0], [&](T a, T b) { return fn(a, b); });
        });
        return {};
    };
}

LowerRule lowerBinary(const std::string& stage, const std::function<Expr(const Expr&, const Expr&)>& body) {
    return [stage, body](LowerContext& context) -> Status {
        lowerElementwise(context, stage,
                         [&](const Indices& i) { return body(operand(context, 0, i), operand(context, 1, i)); });
        return {};
    };
}

template <class T> T quotient(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
        return a / b;
    else if (b == 0)
        return 0;
    else if (std::is_signed_v<T> && b == static_cast<T>(-1))
        return wrapping(T{}, a, [](auto zero, auto value) { return zero - value; }); // also of the lowest number
    else
        return static_cast<T>(a / b);
}

// The sign of the divisor (fmod = 0, integers only) or of the dividend (fmod = 1).
template <class T> T remainder(T a, T b, bool likeC) {
    if constexpr (std::is_floating_point_v<T>) {
        const T rest = std::fmod(a, b);
        return !likeC && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
        if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1)))
            return 0;
        const auto rest = static_cast<T>(a % b);
        return !likeC && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
}

bool modLikeC(const Node& node) { return node.intAttr("fmod", 0) != 0; }

Status inferMod(InferContext& in) {
    TS_TRY(inferBroadcast(in));
    if (!modLikeC(in.node) && isFloat(in.type(0).dtype))
        return in.error("needs fmod = 1 for " + std::string(dtypeName(in.type(0).dtype)));
    return {};
}

Status evalMod(EvalContext& context) {
    const bool likeC = modLikeC(context.node);
    return binaryKernel([likeC](auto a, auto b) { return remainder(a, b, likeC); })(context);
}

Status lowerMod(LowerContext& context) {
    const Op op = modLikeC(context.node) ? Op::truncMod : Op::mod;
    return lowerBinary("mod", [op](const Expr& a, const Expr& b) { return binary(op, a, b); })(context);
}

Status modLowerable(const OpInputs& in) {
    if (isFloat(in.type(0).dtype))
        return in.unsupported("the remainder of floating-point numbers is not compiled");
    return {};
}

// Pow: the exponent may have another type than the base, whose type the result has.
Status inferPow(InferContext& in) {
    TS_TRY(requireNumeric(in, 0));
    TS_TRY(requireNumeric(in, 1));
    return inferBroadcastOutput(in, in.type(0).dtype);
}

bool arePowersOfIntegers(DType base, DType exponent) { return isInteger(base) && isInteger(exponent); }

// Powers of integers wrap around, whatever the two types are; one below 1 is truncated to 0, and 0 to a negative power is 0, too.
std::int64_t integerPower(std::int64_t base, std::int64_t exponent, DType baseType, DType exponentType) {
    if (!isSigned(exponentType))
        return intBinary(Op::pow, base, exponent, DType::u64);
    if (baseType != DType::u64)
        return intBinary(Op::pow, base, exponent, DType::i64);
    return exponent < 0 ? base == 1 : intBinary(Op::pow, base, exponent, DType::u64);
}

Expr integerPower(const Expr& base, const Expr& exponent) {
    const auto in = [&](DType type) { return binary(Op::pow, cast(type, base), cast(type, exponent)); };
    const auto narrowed = [&](const Expr& power) { return cast(base->type, power); };
    if (!isSigned(exponent->type))
        return narrowed(in(DType::u64));
    if (base->type != DType::u64)
        return narrowed(in(DType::i64));
    const Expr isOne = cast(DType::u64, equal(base, constantInt(DType::u64, 1)));
    return select(exponent < constantInt(exponent->type, 0), isOne, in(DType::u64));
}

Status evalPow(EvalContext& context) {
    const Tensor& base = context.input(0);
    const Tensor& exponent = context.input(1);
    Tensor& out = context.outputs[0];
    const bool ofIntegers = arePowersOfIntegers(base.type(), exponent.type());
    const DType wide = ofIntegers ? DType::i64 : DType::f64;
    Tensor result = Tensor::zeros(wide, out.shape());
    if (ofIntegers)
        mapBroadcast<std::int64_t, std::int64_t>(base.cast(wide), exponent.cast(wide), result, [&](std::int64_t a, std::int64_t b) {
            return integerPower(a, b, base.type(), exponent.type());
        });
    else
        mapBroadcast<double, double>(base.cast(wide), exponent.cast(wide), result, [](double a, double b) { return std::pow(a, b); });
    out = result.cast(out.type());
    return {};
}

Expr powerOf(const Expr& base, const Expr& exponent) {
    if (exponent->op == Op::constant && isFloat(base->type)) {
        const double value = exponent->floatValue;
        if (value == 1)
            return base;
        if (value == 2)
            return base * base;
        if (value == 3)
            return base * base * base;
        if (value == 0.5) // but for -infinity, whose power is infinity
            return select(equal(base, constantOf(base->type, -HUGE_VAL)), constantOf(base->type, HUGE_VAL), unary(Op::sqrt, base));
    }
    return binary(Op::pow, base, exponent);
}

Expr asFloat(DType type, const Expr& x) {
    const bool integerConstant = x->op == Op::constant && !isFloat(x->type);
    return integerConstant ? constantOf(type, static_cast<double>(x->intValue))
           : x->op == Op::constant ? constantOf(type, x->floatValue)
                                   : cast(type, x);
}

// Wide enough for both.
DType powerType(const Expr& base, const Expr& exponent) {
    const bool isSmall = exponent->op == Op::constant && std::abs(exponent->intValue) < (std::int64_t{1} << 24); // or a float
    const bool fits = exponent->type == DType::f32 || byteSize(exponent->type) < 4 || isSmall;
    return base->type == DType::f32 && fits ? DType::f32 : DType::f64;
}

Status lowerPow(LowerContext& context) {
    const DType result = computeType(context.outputType());
    lowerElementwise(context, "pow", [&](const Indices& i) {
        const Expr base = operand(context, 0, i), exponent = operand(context, 1, i);
        if (arePowersOfIntegers(base->type, exponent->type))
            return integerPower(base, exponent);
        const DType type = powerType(base, exponent);
        const Expr power = powerOf(asFloat(type, base), asFloat(type, exponent));
        return isFloat(result) ? cast(result, power) : power;
    });
    return {};
}

// Min, Max, Sum and Mean take any number of inputs: a fold over them.
template <class Fn> Kernel foldKernel(bool mean, Fn fn) {
    return [mean, fn](EvalContext& context) -> Status {
        Tensor& out = context.outputs[0];
        visitNumeric(out.type(), [&](auto tag) {
            using T = decltype(tag);
            const Tensor zero = Tensor::zeros(out.type(), {});
            mapBroadcast<T, T>(context.input(0), zero, out, [](T a, T) { return a; });
            for (std::size_t i = 1; i < context.inputs.size(); ++i)
                mapBroadcast<T, T>(out, context.input(i), out, [&](T a, T b) { return fn(a, b); });
            if (mean)
                for (T& value : out.mutableData<T>())
                    value = static_cast<T>(value / static_cast<T>(context.inputs.size()));
        });
        return {};
    };
}

LowerRule lowerFold(const std::string& stage, Op op, bool mean) {
    return [stage, op, mean](LowerContext& context) -> Status {
        lowerElementwise(context, stage, [&](const Indices& i) {
            Expr all = operand(context, 0, i);
            for (std::size_t n = 1; n < context.inputs.size(); ++n)
                all = binary(op, all, operand(context, n, i));
            return mean ? all * constantOf(all->type, 1.0 / static_cast<double>(context.inputs.size())) : all;
        });
        return {};
    };
}

template <class T> bool isNan(T x) { return x != x; }

Status inferMean(InferContext& in) {
    TS_TRY(requireFloat(in, 0));
    return inferBroadcast(in);
}

} // namespace

void registerArithmetic(OperatorList& list) {
    const auto add = [&](const char* name, Kernel kernel, LowerRule lower) {
        addOperator(list, name, Fusion::elementwise, 7, {2, 2}, inferBroadcast, kernel, std::move(lower));
    };
    add("Add", binaryKernel([](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); }),
        lowerBinary("add", [](const Expr& a, const Expr& b) { return a + b; }));
    add("Sub", binaryKernel([](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x - y; }); }),
        lowerBinary("sub", [](const Expr& a, const Expr& b) { return a - b; }));
    add("Mul", binaryKernel([](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); }),
        lowerBinary("mul", [](const Expr& a, const Expr& b) { return a * b; }));
    add("Div", binaryKernel([](auto a, auto b) { return quotient(a, b); }),
        lowerBinary("div", [](const Expr& a, const Expr& b) {
            return binary(isFloat(a->type) ? Op::div : Op::truncDiv, a, b);
        }));
    addOperator(list, "Mod", Fusion::elementwise, 10, {2, 2}, inferMod, evalMod, lowerMod, modLowerable);
    addOperator(list, "Pow", Fusion::elementwise, 7, {2, 2}, inferPow, evalPow, lowerPow);

    const auto variadic = [&](const char* name, const InferRule& infer, Kernel kernel, LowerRule lower) {
        addOperator(list, name, Fusion::elementwise, 6, {1, kVariadic}, infer, kernel, std::move(lower));
        list.back().steps = [](const OpInputs& in) { return static_cast<double>(in.count()) * resultElements(in); }; // one may come many times
    };
    variadic("Min", inferBroadcast, foldKernel(false, [](auto a, auto b) { return isNan(a) || a < b ? a : b; }),
             lowerFold("min", Op::min, false));
    variadic("Max", inferBroadcast, foldKernel(false, [](auto a, auto b) { return isNan(a) || a > b ? a : b; }),
             lowerFold("max", Op::max, false));
    const auto plus = [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); };
    variadic("Sum", inferBroadcast, foldKernel(false, plus), lowerFold("sum", Op::add, false));
    variadic("Mean", inferMean, foldKernel(true, plus), lowerFold("mean", Op::add, true));
}

} // namespace tunesmith::ops
