// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// Mathematical functions of one tensor, element by element.
namespace tunesmith::ops {
namespace {

using namespace loops;

template <class T, class R, class Fn> void map(EvalContext& context, Fn fn) {
    const auto x = context.input(0).data<T>();
    const auto y = context.outputs[0].mutableData<R>();
    for (std::size_t i = 0; i < x.size(); ++i)
        y[i] = static_cast<R>(fn(x[i]));
}

LowerRule lowerAs(const std::string& stage, const std::function<Expr(const Expr&)>& body) {
    return [stage, body](LowerContext& context) -> Status {
        lowerElementwise(context, stage, [&](const Indices& i) { return body(read(context.inputs[0], i)); });
        return {};
    };
}

LowerRule lowerAs(const std::string& stage, Op op) {
    return lowerAs(stage, [op](const Expr& x) { return unary(op, x); });
}

// Computed in double and rounded once.
template <class Fn>
void addFloat(OperatorList& list, const std::string& name, std::int64_t since, const LowerRule& lower, Fn fn) {
    const Kernel kernel = [fn](EvalContext& context) -> Status {
        visitFloat(context.outputs[0].type(), [&](auto tag) {
            using T = decltype(tag);
            map<T, T>(context, [&](T x) { return fn(static_cast<double>(x)); });
        });
        return {};
    };
    addOperator(list, name, Fusion::elementwise, since, {1, 1}, inferFloatUnary, kernel, lower);
}

template <class Fn>
void addNumeric(OperatorList& list, const std::string& name, const LowerRule& lower, Fn fn) {
    const Kernel kernel = [fn](EvalContext& context) -> Status {
        visitNumeric(context.outputs[0].type(), [&](auto tag) { map<decltype(tag), decltype(tag)>(context, fn); });
        return {};
    };
    addOperator(list, name, Fusion::elementwise, 6, {1, 1}, inferNumericUnary, kernel, lower);
}

void registerElementary(OperatorList& list) {
    addFloat(list, "Exp", 6, lowerAs("exp", Op::exp), [](double x) { return std::exp(x); });
    addFloat(list, "Log", 6, lowerAs("log", Op::log), [](double x) { return std::log(x); });
    addFloat(list, "Sqrt", 6, lowerAs("sqrt", Op::sqrt), [](double x) { return std::sqrt(x); });
    addFloat(list, "Erf", 9, lowerAs("erf", Op::erf), [](double x) { return std::erf(x); });
    addFloat(list, "Floor", 6, lowerAs("floor", Op::floor), [](double x) { return std::floor(x); });
    addFloat(list, "Ceil", 6, lowerAs("ceil", Op::ceil), [](double x) { return std::ceil(x); });
    addFloat(list, "Round", 11, lowerAs("round", Op::round), [](double x) { return std::nearbyint(x); });
    addFloat(list, "Reciprocal", 6, lowerAs("reciprocal", [](const Expr& x) { return constantOf(x->type, 1) / x; }),
             [](double x) { return 1 / x; });
}

void registerTrigonometric(OperatorList& list) {
    addFloat(list, "Sin", 7, lowerAs("sin", Op::sin), [](double x) { return std::sin(x); });
    addFloat(list, "Cos", 7, lowerAs("cos", Op::cos), [](double x) { return std::cos(x); });
    addFloat(list, "Tan", 7, lowerAs("tan", Op::tan), [](double x) { return std::tan(x); });
    addFloat(list, "Asin", 7, lowerAs("asin", Op::asin), [](double x) { return std::asin(x); });
    addFloat(list, "Acos", 7, lowerAs("acos", Op::acos), [](double x) { return std::acos(x); });
    addFloat(list, "Atan", 7, lowerAs("atan", Op::atan), [](double x) { return std::atan(x); });
    addFloat(list, "Sinh", 9, lowerAs("sinh", Op::sinh), [](double x) { return std::sinh(x); });
    addFloat(list, "Cosh", 9, lowerAs("cosh", Op::cosh), [](double x) { return std::cosh(x); });
    addFloat(list, "Asinh", 9, lowerAs("asinh", Op::asinh), [](double x) { return std::asinh(x); });
    addFloat(list, "Acosh", 9, lowerAs("acosh", Op::acosh), [](double x) { return std::acosh(x); });
    addFloat(list, "Atanh", 9, lowerAs("atanh", Op::atanh), [](double x) { return std::atanh(x); });
}

template <class T> T negated(T x) {
    return wrapping(T{}, x, [](auto zero, auto value) {
        if constexpr (std::is_floating_point_v<T>)
            return -value; // keeps the sign of zero
        else
            return zero - value;
    });
}

void registerSigned(OperatorList& list) {
    addNumeric(list, "Neg", lowerAs("neg", Op::neg), [](auto x) { return negated(x); });
    addNumeric(list, "Abs", lowerAs("abs", Op::abs), [](auto x) {
        using T = decltype(x);
        if constexpr (std::is_floating_point_v<T>)
            return std::fabs(x);
        else
            return x < T{} ? negated(x) : x;
    });
    addNumeric(list, "Sign", lowerAs("sign", Op::sign), [](auto x) {
        using T = decltype(x);
        return x > T{} ? T{1} : x < T{} ? static_cast<T>(-1) : x;
    });
}

Status inferNot(InferContext& in) {
    TS_TRY(requireType(in, 0, [](DType type) { return type == DType::boolean; }, "bool"));
    return inferSameAsFirst(in);
}

Status evalNot(EvalContext& context) {
    map<bool, bool>(context, [](bool x) { return !x; });
    return {};
}

Status inferBitwiseNot(InferContext& in) {
    TS_TRY(requireType(in, 0, isInteger, "an integer type"));
    return inferSameAsFirst(in);
}

Status evalBitwiseNot(EvalContext& context) {
    visitNumeric(context.outputs[0].type(), [&](auto tag) {
        using T = decltype(tag);
        if constexpr (std::is_integral_v<T>)
            map<T, T>(context, [](T x) { return static_cast<T>(~x); });
    });
    return {};
}

Status inferFloatTest(InferContext& in) {
    TS_TRY(inferFloatUnary(in));
    in.outputs[0].dtype = DType::boolean;
    return {};
}

Status evalIsNan(EvalContext& context) {
    visitFloat(context.input(0).type(),
               [&](auto tag) { map<decltype(tag), bool>(context, [](auto x) { return std::isnan(x); }); });
    return {};
}

struct InfinitySigns {
    bool negative, positive;
    explicit InfinitySigns(const Node& node)
        : negative(node.intAttr("detect_negative", 1) != 0), positive(node.intAttr("detect_positive", 1) != 0) {}
};

Status evalIsInf(EvalContext& context) {
    const InfinitySigns detect(context.node);
    visitFloat(context.input(0).type(), [&](auto tag) {
        map<decltype(tag), bool>(
            context, [&](auto x) { return std::isinf(x) && (x > 0 ? detect.positive : detect.negative); });
    });
    return {};
}

Status lowerIsInf(LowerContext& context) {
    const InfinitySigns detect(context.node);
    lowerElementwise(context, "is_inf", [&](const Indices& i) {
        const Expr x = read(context.inputs[0], i);
        const Expr positive = constantInt(DType::boolean, detect.positive);
        const Expr negative = constantInt(DType::boolean, detect.negative);
        const Expr zero = constantOf(x->type, 0);
        return unary(Op::isInf, x) && ((positive && x > zero) || (negative && x < zero));
    });
    return {};
}

} // namespace

void registerUnary(OperatorList& list) {
    registerElementary(list);
    registerTrigonometric(list);
    registerSigned(list);
    const auto add = [&](const char* name, std::int64_t since, InferRule infer, Kernel kernel, LowerRule lower) {
        addOperator(list, name, Fusion::elementwise, since, {1, 1}, infer, kernel, std::move(lower));
    };
    add("Not", 1, inferNot, evalNot, lowerAs("not", Op::logicalNot));
    add("BitwiseNot", 18, inferBitwiseNot, evalBitwiseNot, lowerAs("bitwise_not", Op::bitNot));
    add("IsNaN", 9, inferFloatTest, evalIsNan, lowerAs("is_nan", Op::isNan));
    add("IsInf", 10, inferFloatTest, evalIsInf, lowerIsInf);
}

} // namespace tunesmith::ops
