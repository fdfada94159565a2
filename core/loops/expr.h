// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/graph/tensor.h"

namespace tunesmith::loops {

// Scalar expressions over loop variables and tensor elements: the bodies of tensor expressions and of loop nests.
// Immutable and shared. Index arithmetic is int64; `div` and `mod` round towards minus infinity on integers, `div` is the
// true quotient on floats. Comparisons and logic yield boolean.
enum class Op : std::uint8_t {
    constant, var, load,
    add, sub, mul, div, mod, truncDiv, truncMod, min, max, pow, // binary; trunc* are C's division of integers
    dot4, // of int32: the sum of the four products of the left side's bytes, unsigned, and the right side's, signed
    bitAnd, bitOr, bitXor, shiftLeft, shiftRight,
    equal, notEqual, less, lessEqual, greater, greaterEqual, logicalAnd, logicalOr,
    logicalNot, bitNot, neg, abs, sign, exp, expDown /* exp of what is at most 0, which takes less */, log, sqrt, sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh,
    tanh, erf, floor, ceil, round /* half to even */, isNan, isInf,
    select, // condition, then, otherwise
    cast,
};

// A loop variable; identity is the pointer, the name is for people.
struct VarInfo {
    std::string name;
};
using Var = std::shared_ptr<const VarInfo>;
Var makeVar(std::string name);

// A tensor that a stage reads or makes. How it is laid out in memory is decided by the schedule (layout.h), so indices in
// expressions are always logical: one per dimension of `shape`.
struct TensorDecl {
    std::string name;
    DType type;
    Shape shape;
};
using TensorRef = std::shared_ptr<const TensorDecl>;
TensorRef makeTensor(std::string name, DType type, Shape shape);

struct ExprNode;

class Expr {
public:
    Expr() = default; // none
    Expr(std::int64_t value);
    Expr(int value) : Expr(static_cast<std::int64_t>(value)) {}
    Expr(const Var& var);
    explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

    bool valid() const { return node_ != nullptr; }
    const ExprNode& operator*() const { return *node_; }
    const ExprNode* operator->() const { return node_.get(); }
    const ExprNode* get() const { return node_.get(); }

private:
    std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
    Op op;
    DType type;
    std::int64_t intValue = 0; // of an integer or boolean constant
    double floatValue = 0;     // of a float constant
    Var var;
    TensorRef tensor;       // of a load; args are its logical indices
    std::vector<Expr> args;
    bool isFree = false; // of a select: both sides may be computed, whatever its condition says (free_selects.h)
};

Expr constantOf(DType type, double value); // a constant of any numeric type
Expr constantInt(DType type, std::int64_t value);
Expr unary(Op op, Expr x);                  // result type: that of x, boolean for isNan, isInf, logicalNot
Expr binary(Op op, Expr a, Expr b);         // operand types must agree; folds constants and x+0, x*1, x*0 of integers
Expr select(Expr condition, Expr then, Expr otherwise);
Expr freeSelect(Expr condition, Expr then, Expr otherwise);
Expr cast(DType type, Expr x);
Expr load(const TensorRef& tensor, std::vector<Expr> indices);

inline Expr operator+(Expr a, Expr b) { return binary(Op::add, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return binary(Op::sub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return binary(Op::mul, std::move(a), std::move(b)); }
inline Expr operator/(Expr a, Expr b) { return binary(Op::div, std::move(a), std::move(b)); }
inline Expr operator%(Expr a, Expr b) { return binary(Op::mod, std::move(a), std::move(b)); }
inline Expr operator-(Expr a) { return unary(Op::neg, std::move(a)); }
inline Expr operator<(Expr a, Expr b) { return binary(Op::less, std::move(a), std::move(b)); }
inline Expr operator<=(Expr a, Expr b) { return binary(Op::lessEqual, std::move(a), std::move(b)); }
inline Expr operator>(Expr a, Expr b) { return binary(Op::greater, std::move(a), std::move(b)); }
inline Expr operator>=(Expr a, Expr b) { return binary(Op::greaterEqual, std::move(a), std::move(b)); }
inline Expr operator&&(Expr a, Expr b) { return binary(Op::logicalAnd, std::move(a), std::move(b)); }
inline Expr operator||(Expr a, Expr b) { return binary(Op::logicalOr, std::move(a), std::move(b)); }
inline Expr equal(Expr a, Expr b) { return binary(Op::equal, std::move(a), std::move(b)); }
inline Expr min(Expr a, Expr b) { return binary(Op::min, std::move(a), std::move(b)); }
inline Expr max(Expr a, Expr b) { return binary(Op::max, std::move(a), std::move(b)); }

bool isConstant(const Expr& e, std::int64_t value);         // an integer constant with this value
std::optional<std::int64_t> constantValue(const Expr& e);  // of an integer constant
std::string toText(const Expr& e);

// Rebuilds `e` with every variable for which `replace` gives a valid expression replaced by it.
template <class Replace> Expr substitute(const Expr& e, const Replace& replace);
Expr rebuild(const Expr& e, std::vector<Expr> args); // the same node over other arguments, folding again

template <class Replace> Expr substitute(const Expr& e, const Replace& replace) {
    if (e->op == Op::var) {
        Expr found = replace(e->var);
        return found.valid() ? found : e;
    }
    bool changed = false;
    std::vector<Expr> args;
    args.reserve(e->args.size());
    for (const Expr& arg : e->args) {
        args.push_back(substitute(arg, replace));
        changed = changed || args.back().get() != arg.get();
    }
    return changed ? rebuild(e, std::move(args)) : e;
}

} // namespace tunesmith::loops
