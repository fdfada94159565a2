// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/expr.h"

#include <array>
#include <cmath>
#include <sstream>

#include "core/loops/scalar_arithmetic.h"

namespace tunesmith::loops {
namespace {

Expr make(ExprNode node) { return Expr(std::make_shared<const ExprNode>(std::move(node))); }

bool isComparison(Op op) { return op >= Op::equal && op <= Op::logicalOr; }

// Wraps around as the elements of tensors do.
std::optional<std::int64_t> foldInts(Op op, std::int64_t a, std::int64_t b, DType type) {
    const bool divides = op == Op::div || op == Op::mod || op == Op::truncDiv || op == Op::truncMod;
    const bool folds = op <= Op::max || isComparison(op);
    if (!folds || (divides && b == 0))
        return std::nullopt;
    const std::int64_t value = intBinary(op, a, b, type);
    return isComparison(op) ? value : wrapTo(type, value);
}

// x + 0, 0 + x, x - 0, x * 1, x * 0, x / 1, x % 1 on integers, and logic with a constant side.
Expr foldIdentity(Op op, const Expr& a, const Expr& b) {
    switch (op) {
    case Op::add: return isConstant(a, 0) ? b : isConstant(b, 0) ? a : Expr();
    case Op::sub: return isConstant(b, 0) ? a : Expr();
    case Op::mul:
        if (isConstant(a, 0) || isConstant(b, 0))
            return constantInt(a->type, 0);
        return isConstant(a, 1) ? b : isConstant(b, 1) ? a : Expr();
    case Op::div: return isConstant(b, 1) ? a : Expr();
    case Op::mod: return isConstant(b, 1) ? constantInt(a->type, 0) : Expr();
    case Op::logicalAnd:
        if (isConstant(a, 0) || isConstant(b, 0))
            return constantInt(DType::boolean, 0);
        return isConstant(a, 1) ? b : isConstant(b, 1) ? a : Expr();
    case Op::logicalOr:
        if (isConstant(a, 1) || isConstant(b, 1))
            return constantInt(DType::boolean, 1);
        return isConstant(a, 0) ? b : isConstant(b, 0) ? a : Expr();
    default: return {};
    }
}

} // namespace

Var makeVar(std::string name) { return std::make_shared<const VarInfo>(VarInfo{std::move(name)}); }

TensorRef makeTensor(std::string name, DType type, Shape shape) {
    return std::make_shared<const TensorDecl>(TensorDecl{std::move(name), type, std::move(shape)});
}

Expr::Expr(std::int64_t value) : Expr(constantInt(DType::i64, value)) {}

Expr::Expr(const Var& var) : Expr(make({.op = Op::var, .type = DType::i64, .var = var, .tensor = {}, .args = {}})) {}

Expr constantInt(DType type, std::int64_t value) {
    return make({.op = Op::constant, .type = type, .intValue = value, .var = {}, .tensor = {}, .args = {}});
}

Expr constantOf(DType type, double value) {
    if (!isFloat(type))
        return constantInt(type, static_cast<std::int64_t>(value));
    return make({.op = Op::constant, .type = type, .floatValue = value, .var = {}, .tensor = {}, .args = {}});
}

Expr unary(Op op, Expr x) {
    const bool logical = op == Op::isNan || op == Op::isInf || op == Op::logicalNot;
    const DType type = logical ? DType::boolean : x->type;
    if (x->op == Op::constant && !isFloat(x->type)) {
        if (op == Op::neg)
            return constantInt(type, wrapTo(type, intUnary(op, x->intValue, type)));
        if (op == Op::logicalNot)
            return constantInt(type, !x->intValue);
    }
    return make({.op = op, .type = type, .var = {}, .tensor = {}, .args = {std::move(x)}});
}

Expr binary(Op op, Expr a, Expr b) {
    assert(a->type == b->type && "operand types of an expression must agree");
    const DType type = isComparison(op) ? DType::boolean : a->type;
    if (!isFloat(a->type)) {
        if (a->op == Op::constant && b->op == Op::constant)
            if (const auto folded = foldInts(op, a->intValue, b->intValue, a->type))
                return constantInt(type, *folded);
        if (Expr folded = foldIdentity(op, a, b); folded.valid())
            return folded;
    }
    return make({.op = op, .type = type, .var = {}, .tensor = {}, .args = {std::move(a), std::move(b)}});
}

namespace {

Expr makeSelect(Expr condition, Expr then, Expr otherwise, bool isFree) {
    assert(condition->type == DType::boolean && then->type == otherwise->type);
    if (const auto known = constantValue(condition))
        return *known ? then : otherwise;
    const DType type = then->type;
    return make({.op = Op::select, .type = type, .var = {}, .tensor = {},
                 .args = {std::move(condition), std::move(then), std::move(otherwise)}, .isFree = isFree});
}

} // namespace

Expr select(Expr condition, Expr then, Expr otherwise) { return makeSelect(std::move(condition), std::move(then), std::move(otherwise), false); }

Expr freeSelect(Expr condition, Expr then, Expr otherwise) { return makeSelect(std::move(condition), std::move(then), std::move(otherwise), true); }

Expr cast(DType type, Expr x) {
    if (x->type == type)
        return x;
    if (const auto value = constantValue(x); value && !isFloat(type))
        return constantInt(type, wrapTo(type, *value));
    return make({.op = Op::cast, .type = type, .var = {}, .tensor = {}, .args = {std::move(x)}});
}

Expr load(const TensorRef& tensor, std::vector<Expr> indices) {
    assert(indices.size() == tensor->shape.size() && "one index per dimension");
    return make({.op = Op::load, .type = tensor->type, .var = {}, .tensor = tensor, .args = std::move(indices)});
}

Expr rebuild(const Expr& e, std::vector<Expr> args) {
    switch (e->op) {
    case Op::constant:
    case Op::var: return e;
    case Op::load: return load(e->tensor, std::move(args));
    case Op::select: return makeSelect(args[0], args[1], args[2], e->isFree);
    case Op::cast: return cast(e->type, args[0]);
    default: return args.size() == 1 ? unary(e->op, args[0]) : binary(e->op, args[0], args[1]);
    }
}

bool isConstant(const Expr& e, std::int64_t value) {
    return e->op == Op::constant && !isFloat(e->type) && e->intValue == value;
}

std::optional<std::int64_t> constantValue(const Expr& e) {
    if (e->op == Op::constant && !isFloat(e->type))
        return e->intValue;
    return std::nullopt;
}

namespace {

const char* symbolOf(Op op) {
    static constexpr std::array<std::pair<Op, const char*>, 20> symbols{
        {{Op::add, " + "}, {Op::sub, " - "}, {Op::mul, "*"}, {Op::div, "/"}, {Op::mod, "%"}, {Op::truncDiv, " divt "},
         {Op::truncMod, " modt "}, {Op::bitAnd, " & "}, {Op::bitOr, " | "}, {Op::bitXor, " ^ "}, {Op::shiftLeft, " << "},
         {Op::shiftRight, " >> "}, {Op::equal, " == "}, {Op::notEqual, " != "}, {Op::less, " < "}, {Op::lessEqual, " <= "},
         {Op::greater, " > "}, {Op::greaterEqual, " >= "}, {Op::logicalAnd, " && "}, {Op::logicalOr, " || "}}};
    for (const auto& [key, text] : symbols)
        if (key == op)
            return text;
    return nullptr;
}

const char* functionName(Op op) {
    static constexpr std::array<const char*, 29> names{"!", "~", "neg", "abs", "sign", "exp", "exp", "log", "sqrt", "sin", "cos",
        "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "tanh", "erf", "floor", "ceil", "round",
        "isnan", "isinf", "select", "cast"};
    if (op == Op::min)
        return "min";
    if (op == Op::max)
        return "max";
    if (op == Op::pow)
        return "pow";
    if (op == Op::dot4)
        return "dot4";
    return names[static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::logicalNot)];
}

std::string argumentsText(const Expr& e) {
    std::string text;
    for (const Expr& arg : e->args)
        text += (text.empty() ? "" : ", ") + toText(arg);
    return text;
}

std::string numberText(double value) { return (std::ostringstream() << value << 'f').str(); }

} // namespace

std::string toText(const Expr& e) {
    switch (e->op) {
    case Op::constant: return isFloat(e->type) ? numberText(e->floatValue) : std::to_string(e->intValue);
    case Op::var: return e->var->name;
    case Op::load: return e->tensor->name + "[" + argumentsText(e) + "]";
    case Op::cast: return std::string(dtypeName(e->type)) + "(" + toText(e->args[0]) + ")";
    default: break;
    }
    if (const char* symbol = symbolOf(e->op))
        return "(" + toText(e->args[0]) + symbol + toText(e->args[1]) + ")";
    return std::string(functionName(e->op)) + "(" + argumentsText(e) + ")";
}

} // namespace tunesmith::loops
