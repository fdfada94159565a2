// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/copied_strings.h"
#include "core/ops/broadcast.h"
#include "core/ops/kernel.h"
#include "core/ops/lowering.h"
#include "core/ops/rules.h"

// Comparisons, logic, bits and Where, all under broadcasting.
namespace tunesmith::ops {
namespace {

using namespace loops;

bool isBool(DType type) { return type == DType::boolean; }
bool isComparable(DType type) { return isNumeric(type); }
bool isEquatable(DType type) { return isNumeric(type) || isBool(type) || type == DType::string; }

// Both inputs are of an allowed type, the output is of their broadcast shape.
InferRule inferPair(bool (*allowed)(DType), const char* wanted, DType result) {
    return [allowed, wanted, result](InferContext& in) -> Status {
        TS_TRY(requireType(in, 0, allowed, wanted));
        TS_TRY(requireType(in, 1, allowed, wanted));
        TS_TRY(requireSameType(in, 0, 1));
        return inferBroadcastOutput(in, result == DType::undefined ? in.type(0).dtype : result);
    };
}

LowerRule lowerPair(const std::string& stage, Op op) {
    return [stage, op](LowerContext& context) -> Status {
        lowerElementwise(context, stage, [&](const Indices& i) {
            return binary(op, operand(context, 0, i), operand(context, 1, i));
        });
        return {};
    };
}

template <class Fn> Kernel compareKernel(Fn fn) {
    return [fn](EvalContext& context) -> Status {
        const auto run = [&](auto tag) {
            using T = decltype(tag);
            mapBroadcast<T, bool>(context.input(0), context.input(1), context.outputs[0],
                                  [&](T a, T b) { return fn(a, b); });
        };
        if (context.input(0).type() == DType::boolean)
            run(bool{});
        else
            visitNumeric(context.input(0).type(), run);
        return {};
    };
}

void compareStrings(const Tensor& a, const Tensor& b, Tensor& out) {
    const std::array<Shape, 2> strides{broadcastStrides(a.shape(), out.shape()), broadcastStrides(b.shape(), out.shape())};
    forEachRun<2>(out.shape(), strides, [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
        for (std::int64_t i = 0; i < count; ++i)
            out.mutableData<bool>()[start + i] = a.strings()[at[0] + i * step[0]] == b.strings()[at[1] + i * step[1]];
    });
}

Status noStrings(const OpInputs& in) {
    if (in.type(0).dtype == DType::string)
        return in.unsupported("comparisons of strings are not compiled");
    return {};
}

Status evalEqual(EvalContext& context) {
    if (context.input(0).type() != DType::string)
        return compareKernel([](auto a, auto b) { return a == b; })(context);
    compareStrings(context.input(0), context.input(1), context.outputs[0]);
    return {};
}

template <class Fn> Kernel integerKernel(Fn fn) {
    return [fn](EvalContext& context) -> Status {
        visitNumeric(context.outputs[0].type(), [&](auto tag) {
            using T = decltype(tag);
            if constexpr (std::is_integral_v<T>)
                mapBroadcast<T, T>(context.input(0), context.input(1), context.outputs[0],
                                   [&](T a, T b) { return static_cast<T>(fn(a, b)); });
        });
        return {};
    };
}

bool isUnsignedInteger(DType type) { return isInteger(type) && !isSigned(type); }

bool shiftsLeft(const Node& node) { return node.stringAttr("direction") == "LEFT"; }

Status inferBitShift(InferContext& in) {
    const std::string direction = in.node.stringAttr("direction");
    if (direction != "LEFT" && direction != "RIGHT")
        return in.error("direction must be LEFT or RIGHT, not '" + direction + "'");
    return inferPair(isUnsignedInteger, "an unsigned integer type", DType::undefined)(in);
}

// Shifting by the width of the type or more leaves nothing.
Status evalBitShift(EvalContext& context) {
    const bool left = shiftsLeft(context.node);
    return integerKernel([left](auto a, auto b) -> std::uint64_t {
        if (static_cast<std::uint64_t>(b) >= sizeof(a) * 8)
            return 0;
        const auto wide = static_cast<std::uint64_t>(a);
        return left ? wide << b : wide >> b;
    })(context);
}

Status lowerBitShift(LowerContext& context) {
    const Op op = shiftsLeft(context.node) ? Op::shiftLeft : Op::shiftRight;
    lowerElementwise(context, "bit_shift", [&](const Indices& i) {
        const Expr a = operand(context, 0, i), b = operand(context, 1, i);
        const auto width = static_cast<std::int64_t>(byteSize(a->type) * 8);
        const Expr inside = b < constantInt(b->type, width);
        const Expr amount = select(inside, b, constantInt(b->type, 0));
        return select(inside, binary(op, a, amount), constantInt(a->type, 0));
    });
    return {};
}

Status inferWhere(InferContext& in) {
    TS_TRY(requireType(in, 0, isBool, "bool"));
    TS_TRY(requireSameType(in, 1, 2));
    return inferBroadcastOutput(in, in.type(1).dtype);
}

Status evalWhere(EvalContext& context) {
    const Tensor &condition = context.input(0), &then = context.input(1), &otherwise = context.input(2);
    Tensor& out = context.outputs[0];
    const std::array<Shape, 3> strides{broadcastStrides(condition.shape(), out.shape()),
                                       broadcastStrides(then.shape(), out.shape()),
                                       broadcastStrides(otherwise.shape(), out.shape())};
    if (out.type() == DType::string) {
        std::vector<const std::string*> chosen(static_cast<std::size_t>(out.count()));
        forEachRun<3>(out.shape(), strides, [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
            for (std::int64_t i = 0; i < count; ++i)
                chosen[static_cast<std::size_t>(start + i)] =
                    condition.data<bool>()[at[0] + i * step[0]] ? &then.strings()[at[1] + i * step[1]]
                                                                : &otherwise.strings()[at[2] + i * step[2]];
        });
        out = copyStrings(out.shape(), [&](std::int64_t i) -> const std::string& { return *chosen[static_cast<std::size_t>(i)]; });
        return {};
    }
    visitDType(out.type(), [&](auto tag) {
        using T = decltype(tag);
        const bool* const c = condition.data<bool>().data();
        const T* const a = then.data<T>().data();
        const T* const b = otherwise.data<T>().data();
        T* const y = out.mutableData<T>().data();
        forEachRun<3>(out.shape(), strides, [&](std::int64_t start, std::int64_t count, const auto& at, const auto& step) {
            for (std::int64_t i = 0; i < count; ++i)
                y[start + i] = c[at[0] + i * step[0]] ? a[at[1] + i * step[1]] : b[at[2] + i * step[2]];
        });
    });
    return {};
}

Status lowerWhere(LowerContext& context) {
    lowerElementwise(context, "where", [&](const Indices& i) {
        return select(operand(context, 0, i), operand(context, 1, i), operand(context, 2, i));
    });
    return {};
}

void registerComparisons(OperatorList& list) {
    const auto add = [&](const char* name, std::int64_t since, bool (*allowed)(DType), const char* wanted, Kernel kernel,
                         LowerRule lower) {
        addOperator(list, name, Fusion::elementwise, since, {2, 2}, inferPair(allowed, wanted, DType::boolean), kernel,
                    std::move(lower), noStrings);
    };
    add("Equal", 7, isEquatable, "numeric, bool or string", evalEqual, lowerPair("equal", Op::equal));
    add("Less", 7, isComparable, "numeric", compareKernel([](auto a, auto b) { return a < b; }),
        lowerPair("less", Op::less));
    add("LessOrEqual", 12, isComparable, "numeric", compareKernel([](auto a, auto b) { return a <= b; }),
        lowerPair("less_or_equal", Op::lessEqual));
    add("Greater", 7, isComparable, "numeric", compareKernel([](auto a, auto b) { return a > b; }),
        lowerPair("greater", Op::greater));
    add("GreaterOrEqual", 12, isComparable, "numeric", compareKernel([](auto a, auto b) { return a >= b; }),
        lowerPair("greater_or_equal", Op::greaterEqual));
    add("And", 7, isBool, "bool", compareKernel([](auto a, auto b) { return a && b; }), lowerPair("and", Op::logicalAnd));
    add("Or", 7, isBool, "bool", compareKernel([](auto a, auto b) { return a || b; }), lowerPair("or", Op::logicalOr));
    add("Xor", 7, isBool, "bool", compareKernel([](auto a, auto b) { return a != b; }), lowerPair("xor", Op::notEqual));
}

void registerBits(OperatorList& list) {
    const auto add = [&](const char* name, Kernel kernel, LowerRule lower) {
        addOperator(list, name, Fusion::elementwise, 18, {2, 2},
                    inferPair(isInteger, "an integer type", DType::undefined), kernel, std::move(lower));
    };
    add("BitwiseAnd", integerKernel([](auto a, auto b) { return a & b; }), lowerPair("bitwise_and", Op::bitAnd));
    add("BitwiseOr", integerKernel([](auto a, auto b) { return a | b; }), lowerPair("bitwise_or", Op::bitOr));
    add("BitwiseXor", integerKernel([](auto a, auto b) { return a ^ b; }), lowerPair("bitwise_xor", Op::bitXor));
    addOperator(list, "BitShift", Fusion::elementwise, 11, {2, 2}, inferBitShift, evalBitShift, lowerBitShift);
}

} // namespace

void registerComparison(OperatorList& list) {
    registerComparisons(list);
    registerBits(list);
    addOperator(list, "Where", Fusion::elementwise, 9, {3, 3}, inferWhere, evalWhere, lowerWhere);
}

} // namespace tunesmith::ops
