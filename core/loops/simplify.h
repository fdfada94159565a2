// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/loops/expr.h"

namespace tunesmith::loops {

// Integer reasoning about index expressions: what makes (16*co + ci) / 16 into co, proves guards and finds regions.
struct Range {
    std::int64_t min, max; // inclusive
    bool contains(const Range& other) const { return min <= other.min && other.max <= max; }
};
inline constexpr std::int64_t kUnbounded = std::int64_t{1} << 60;

// sum of coefficient * atom + constant. Atoms are variables or what cannot be taken apart (div, mod, min, loads ...).
struct LinearForm {
    std::vector<std::pair<Expr, std::int64_t>> terms; // no zero coefficients, no atom twice
    std::int64_t constant = 0;

    bool isConstant() const { return terms.empty(); }
    std::int64_t coefficient(const Var& var) const;
    void add(const Expr& atom, std::int64_t coefficient);
    void add(const LinearForm& other, std::int64_t scale = 1);
};

// The loop variables in scope with the values that they take, outermost first. Remembers the forms of what was taken apart under
// these: one form is asked for again and again where divisions, minima and the like lie in each other. For one thread.
class VarRanges {
public:
    void set(const Var& var, Range range);
    void erase(const Var& var);
    Range of(const Var& var) const;    // unbounded when unknown
    int depthOf(const Var& var) const; // order in which variables came into scope

    const LinearForm* knownForm(const Expr& e) const; // null: it was not taken apart since the ranges changed
    void remember(const Expr& e, const LinearForm& form) const;

private:
    struct Entry {
        Range range;
        int depth;
    };
    struct Known {
        Expr e; // keeps the address taken
        LinearForm form;
    };
    std::unordered_map<const VarInfo*, Entry> entries_;
    mutable std::unordered_map<const ExprNode*, Known> forms_;
    int nextDepth_ = 0;
};

bool sameExpr(const Expr& a, const Expr& b); // structural equality
bool usesVar(const Expr& e, const Var& var);
bool usesAny(const Expr& e, const std::set<const VarInfo*>& vars);
bool onlyUses(const Expr& e, const std::set<const VarInfo*>& vars); // no other variables and no memory

LinearForm toLinear(const Expr& e, const VarRanges& ranges); // of an int64 expression; simplifies on the way
std::optional<std::int64_t> strideAlong(const Expr& e, const Var& var); // between its values for neighbours; nullopt when it is no constant
Expr fromLinear(const LinearForm& form, const VarRanges& ranges); // terms of outer variables first, so that they hoist
Range rangeOf(const LinearForm& form, const VarRanges& ranges);
Range rangeOf(const Expr& e, const VarRanges& ranges);
Expr simplify(const Expr& e, const VarRanges& ranges);
std::optional<LinearForm> asNonNegative(const Expr& comparison, const VarRanges& ranges); // the same said as form >= 0, if it can be

} // namespace tunesmith::loops
