// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/scalar.h"

#include <limits>

#include "core/loops/scalar_arithmetic.h"

namespace tunesmith::loops {
namespace {

bool isComparison(Op op) { return op >= Op::equal && op <= Op::greaterEqual; }

Op combinerOf(Reduction reduction) {
    switch (reduction) {
    case Reduction::product: return Op::mul;
    case Reduction::max: return Op::max;
    case Reduction::min: return Op::min;
    default: return Op::add;
    }
}

// A float of 8 bits is loaded as its code.
std::int64_t integerAt(const Tensor& tensor, std::size_t offset) {
    return isStored(tensor.type()) ? std::to_integer<std::int64_t>(tensor.bytes()[offset]) : tensor.asInt(static_cast<std::int64_t>(offset));
}

} // namespace

ScalarCode::Cell ScalarCode::fresh(Scalar value) {
    cells_.push_back(value);
    return static_cast<Cell>(cells_.size() - 1);
}

ScalarCode::Cell ScalarCode::emit(Code code, Op op, DType type, Cell a, Cell b) {
    const Cell to = fresh();
    steps_.push_back({code, op, type, to, a, b});
    return to;
}

std::size_t ScalarCode::jump(Code code, Cell condition) {
    steps_.push_back({code, {}, {}, condition, condition, 0});
    return steps_.size() - 1;
}

ScalarCode::Cell ScalarCode::cellOf(const Var& var) {
    const auto found = vars_.find(var.get());
    if (found != vars_.end())
        return found->second;
    return vars_[var.get()] = fresh();
}

ScalarCode::Piece ScalarCode::compile(const Expr& e) {
    const std::size_t begin = steps_.size();
    const Cell result = compileNode(e);
    return {begin, steps_.size(), result};
}

ScalarCode::Piece ScalarCode::compileReduction(const Stage& stage) {
    const std::size_t begin = steps_.size();
    const Cell result = fresh();
    std::size_t skip = 0;
    if (stage.guard.valid()) {
        const Cell guard = compileNode(stage.guard);
        skip = jump(Code::jumpIfZero, guard);
    }
    move(result, compileBinary(combinerOf(stage.reduction), stage.output->type, result, compileNode(stage.body)));
    if (stage.guard.valid())
        land(skip);
    return {begin, steps_.size(), result};
}

ScalarCode::Cell ScalarCode::compileNode(const Expr& e) {
    switch (e->op) {
    case Op::constant: return isFloat(e->type) ? fresh({.real = e->floatValue}) : fresh({.integer = e->intValue});
    case Op::var: return cellOf(e->var);
    case Op::load: return compileLoad(e);
    case Op::select: return compileSelect(e);
    case Op::cast: return compileCast(e);
    case Op::logicalAnd:
    case Op::logicalOr: return compileLogic(e);
    default: break;
    }
    if (e->args.size() == 1)
        return compileUnary(e);
    const Cell a = compileNode(e->args[0]), b = compileNode(e->args[1]);
    return compileBinary(e->op, e->args[0]->type, a, b);
}

ScalarCode::Cell ScalarCode::compileLoad(const Expr& e) {
    Load load{&tensorOf_(*e->tensor), e, {}};
    for (std::size_t d = 0; d < e->args.size(); ++d)
        load.dimensions.push_back({compileNode(e->args[d]), e->tensor->shape[d]});
    loads_.push_back(std::move(load));
    const auto which = static_cast<Cell>(loads_.size() - 1);
    const Code code = e->type == DType::f32 ? Code::loadFloat : isFloat(e->type) ? Code::loadReal : Code::loadInt;
    return emit(code, e->op, e->type, which);
}

ScalarCode::Cell ScalarCode::compileSelect(const Expr& e) {
    const Cell condition = compileNode(e->args[0]), result = fresh();
    const std::size_t toOtherwise = jump(Code::jumpIfZero, condition);
    move(result, compileNode(e->args[1]));
    const std::size_t toEnd = jump(Code::jump);
    land(toOtherwise);
    move(result, compileNode(e->args[2]));
    land(toEnd);
    return result;
}

// a && b is a ? b : false, and a || b is !(!a && !b): the second side is looked at only where it decides.
ScalarCode::Cell ScalarCode::compileLogic(const Expr& e) {
    const bool all = e->op == Op::logicalAnd;
    const Cell result = fresh(), first = compileNode(e->args[0]);
    move(result, first);
    const Cell decided = all ? first : emit(Code::intUnary, Op::logicalNot, DType::boolean, first);
    const std::size_t skip = jump(Code::jumpIfZero, decided);
    move(result, compileNode(e->args[1]));
    land(skip);
    return result;
}

ScalarCode::Cell ScalarCode::compileCast(const Expr& e) {
    const DType from = e->args[0]->type, to = e->type;
    const Cell x = compileNode(e->args[0]);
    if (isFloat(to))
        return isFloat(from) ? x : emit(Code::toReal, e->op, from, x);
    if (to == DType::boolean)
        return emit(isFloat(from) ? Code::toBool : Code::intToBool, e->op, to, x);
    return isFloat(from) ? emit(Code::toInt, e->op, to, x) : wrapped(x, to);
}

ScalarCode::Cell ScalarCode::wrapped(Cell value, DType type) {
    const bool fills = type == DType::i64 || type == DType::u64;
    return fills ? value : emit(Code::wrap, Op::cast, type, value);
}

ScalarCode::Cell ScalarCode::compileUnary(const Expr& e) {
    const DType type = e->args[0]->type;
    Cell x = compileNode(e->args[0]);
    if (!isFloat(type)) {
        const Cell result = emit(Code::intUnary, e->op, type, x);
        return e->op == Op::neg || e->op == Op::abs || e->op == Op::bitNot ? wrapped(result, type) : result;
    }
    if (e->op == Op::isNan || e->op == Op::isInf)
        return emit(Code::realCompare, e->op, type, x, x);
    // What jumps has to jump where compiled code does.
    if (type == DType::f32 && (e->op == Op::floor || e->op == Op::ceil || e->op == Op::round))
        x = emit(Code::toFloat, e->op, type, x);
    return emit(Code::realUnary, e->op, type, x);
}

ScalarCode::Cell ScalarCode::compileBinary(Op op, DType type, Cell a, Cell b) {
    if (isFloat(type)) {
        const Code code = op == Op::add   ? Code::realAdd
                          : op == Op::sub ? Code::realSub
                          : op == Op::mul ? Code::realMul
                          : op == Op::min ? Code::realMin
                          : op == Op::max ? Code::realMax
                                          : isComparison(op) ? Code::realCompare : Code::realBinary;
        return emit(code, op, type, a, b);
    }
    const Code code = op == Op::add            ? Code::intAdd
                      : op == Op::sub          ? Code::intSub
                      : op == Op::mul          ? Code::intMul
                      : type == DType::u64     ? Code::intBinary
                      : op == Op::less         ? Code::intLess
                      : op == Op::lessEqual    ? Code::intLessEqual
                      : op == Op::greaterEqual ? Code::intGreaterEqual
                                               : Code::intBinary;
    const Cell result = emit(code, op, type, a, b);
    return isComparison(op) ? result : wrapped(result, type);
}

std::size_t ScalarCode::offsetOf(const Load& load) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < load.dimensions.size(); ++d) {
        const auto [cell, extent] = load.dimensions[d];
        const std::int64_t index = cells_[cell].integer;
        if (index < 0 || index >= extent)
            throw OutOfRange{"index " + std::to_string(index) + " of " + toText(load.source) + " leaves dimension " +
                             std::to_string(d) + " of extent " + std::to_string(extent)};
        offset = offset * extent + index;
    }
    return static_cast<std::size_t>(offset);
}

void ScalarCode::run(const Piece& piece) {
    Scalar* const cells = cells_.data();
    for (std::size_t at = piece.begin; at < piece.end; ++at) {
        const Step& step = steps_[at];
        Scalar& to = cells[step.to];
        const Scalar a = step.code < Code::loadFloat ? cells[step.a] : Scalar{}, b = cells[step.b];
        switch (step.code) {
        case Code::jump: at = step.target - 1; break;
        case Code::jumpIfZero:
            if (a.integer == 0)
                at = step.target - 1;
            break;
        case Code::move: to = a; break;
        case Code::realAdd: to.real = a.real + b.real; break;
        case Code::realSub: to.real = a.real - b.real; break;
        case Code::realMul: to.real = a.real * b.real; break;
        case Code::realMin: to.real = realBinary(Op::min, a.real, b.real); break;
        case Code::realMax: to.real = realBinary(Op::max, a.real, b.real); break;
        case Code::intAdd: to.integer = intBinary(Op::add, a.integer, b.integer, step.type); break;
        case Code::intSub: to.integer = intBinary(Op::sub, a.integer, b.integer, step.type); break;
        case Code::intMul: to.integer = intBinary(Op::mul, a.integer, b.integer, step.type); break;
        case Code::intLess: to.integer = a.integer < b.integer; break;
        case Code::intLessEqual: to.integer = a.integer <= b.integer; break;
        case Code::intGreaterEqual: to.integer = a.integer >= b.integer; break;
        case Code::realUnary: to.real = realUnary(step.op, a.real); break;
        case Code::realBinary: to.real = realBinary(step.op, a.real, b.real); break;
        case Code::realCompare: to.integer = realCompare(step.op, a.real, b.real); break;
        case Code::intUnary: to.integer = intUnary(step.op, a.integer, step.type); break;
        case Code::intBinary: to.integer = intBinary(step.op, a.integer, b.integer, step.type); break;
        case Code::toReal: to.real = realOf(step.type, a.integer); break;
        case Code::toInt: to.integer = truncated(step.type, a.real); break;
        case Code::toBool: to.integer = a.real != 0; break;
        case Code::intToBool: to.integer = a.integer != 0; break;
        case Code::toFloat: to.real = static_cast<float>(a.real); break;
        case Code::wrap: to.integer = wrapTo(step.type, a.integer); break;
        case Code::loadFloat:
            to.real = loads_[step.a].tensor->data<float>()[offsetOf(loads_[step.a])];
            break;
        case Code::loadReal: to.real = loads_[step.a].tensor->asDouble(static_cast<std::int64_t>(offsetOf(loads_[step.a]))); break;
        case Code::loadInt: to.integer = integerAt(*loads_[step.a].tensor, offsetOf(loads_[step.a])); break;
        }
    }
}

Scalar identityOf(Reduction reduction, DType type) {
    if (reduction == Reduction::sum || reduction == Reduction::product)
        return isFloat(type) ? Scalar{.real = reduction == Reduction::sum ? 0.0 : 1.0} : Scalar{.integer = reduction == Reduction::sum ? 0 : 1};
    const bool lowest = reduction == Reduction::max;
    if (isFloat(type))
        return {.real = lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()};
    return visitDType(type, [&](auto tag) -> Scalar {
        using T = decltype(tag);
        if constexpr (std::is_integral_v<T>)
            return {.integer = static_cast<std::int64_t>(lowest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max())};
        else
            return {};
    });
}

void storeScalar(Tensor& tensor, std::int64_t offset, Scalar value) {
    visitDType(tensor.type(), [&](auto tag) {
        using T = decltype(tag);
        auto& slot = tensor.mutableData<T>()[static_cast<std::size_t>(offset)];
        if constexpr (std::is_same_v<T, Half>)
            slot = floatToHalf(static_cast<float>(value.real));
        else if constexpr (std::is_same_v<T, BFloat>)
            slot = floatToBfloat(static_cast<float>(value.real));
        else if constexpr (std::is_floating_point_v<T>)
            slot = static_cast<T>(value.real);
        else
            slot = static_cast<T>(value.integer);
    });
}

} // namespace tunesmith::loops
