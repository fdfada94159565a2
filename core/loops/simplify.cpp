// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/loops/simplify.h"

#include <algorithm>
#include <cstdlib>

#include "core/loops/scalar_arithmetic.h"

namespace tunesmith::loops {
namespace {

std::int64_t clampToBound(__int128_t value) {
    return static_cast<std::int64_t>(std::clamp<__int128_t>(value, -kUnbounded, kUnbounded));
}

} // namespace

void VarRanges::set(const Var& var, Range range) {
    entries_[var.get()] = {range, nextDepth_++};
    forms_.clear();
}

void VarRanges::erase(const Var& var) {
    entries_.erase(var.get());
    forms_.clear();
}

const LinearForm* VarRanges::knownForm(const Expr& e) const {
    const auto found = forms_.find(e.get());
    return found == forms_.end() ? nullptr : &found->second.form;
}

void VarRanges::remember(const Expr& e, const LinearForm& form) const { forms_.try_emplace(e.get(), Known{e, form}); }

Range VarRanges::of(const Var& var) const {
    const auto found = entries_.find(var.get());
    return found == entries_.end() ? Range{-kUnbounded, kUnbounded} : found->second.range;
}

int VarRanges::depthOf(const Var& var) const {
    const auto found = entries_.find(var.get());
    return found == entries_.end() ? -1 : found->second.depth;
}

bool sameExpr(const Expr& a, const Expr& b) {
    if (a.get() == b.get())
        return true;
    if (a->op != b->op || a->type != b->type || a->intValue != b->intValue || a->floatValue != b->floatValue ||
        a->var != b->var || a->tensor != b->tensor || a->args.size() != b->args.size())
        return false;
    return std::equal(a->args.begin(), a->args.end(), b->args.begin(), sameExpr);
}

bool usesVar(const Expr& e, const Var& var) {
    if (e->op == Op::var)
        return e->var == var;
    return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return usesVar(arg, var); });
}

bool usesAny(const Expr& e, const std::set<const VarInfo*>& vars) {
    if (e->op == Op::var)
        return vars.contains(e->var.get());
    return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return usesAny(arg, vars); });
}

bool onlyUses(const Expr& e, const std::set<const VarInfo*>& vars) {
    if (e->op == Op::var)
        return vars.contains(e->var.get());
    return e->op != Op::load && std::all_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return onlyUses(arg, vars); });
}

std::int64_t LinearForm::coefficient(const Var& var) const {
    for (const auto& [atom, factor] : terms)
        if (atom->op == Op::var && atom->var == var)
            return factor;
    return 0;
}

void LinearForm::add(const Expr& atom, std::int64_t factor) {
    if (factor == 0)
        return;
    for (auto it = terms.begin(); it != terms.end(); ++it)
        if (sameExpr(it->first, atom)) {
            it->second += factor;
            if (it->second == 0)
                terms.erase(it);
            return;
        }
    terms.emplace_back(atom, factor);
}

void LinearForm::add(const LinearForm& other, std::int64_t scale) {
    for (const auto& [atom, factor] : other.terms)
        add(atom, factor * scale);
    constant += other.constant * scale;
}

namespace {

// form = k * quotient + rest, with all that k divides moved into the quotient and rest.constant in [0, k).
struct Divided {
    LinearForm quotient, rest;
};

Divided divideOut(const LinearForm& form, std::int64_t k) {
    Divided divided;
    for (const auto& [atom, factor] : form.terms) {
        if (factor % k == 0)
            divided.quotient.add(atom, factor / k);
        else
            divided.rest.add(atom, factor);
    }
    divided.quotient.constant = floorDivide(form.constant, k);
    divided.rest.constant = form.constant - divided.quotient.constant * k;
    return divided;
}

LinearForm atomForm(const Expr& atom) {
    LinearForm form;
    if (const auto value = constantValue(atom))
        form.constant = *value;
    else
        form.add(atom, 1);
    return form;
}

LinearForm divideForm(const LinearForm& form, std::int64_t k, const VarRanges& ranges);

// floor((x / a) / b) = floor(x / (a*b)), written as any other quotient of x.
LinearForm quotientAtom(const LinearForm& rest, std::int64_t k, const VarRanges& ranges) {
    if (rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].second == 1 && rest.terms[0].first->op == Op::div)
        if (const auto inner = constantValue(rest.terms[0].first->args[1]); inner && *inner > 0) // 0: over an empty dimension
            if (std::int64_t both = 0; !__builtin_mul_overflow(*inner, k, &both))
                return divideForm(toLinear(rest.terms[0].first->args[0], ranges), both, ranges);
    return atomForm(fromLinear(rest, ranges) / Expr(k));
}

// form = step * quotient + rest with 0 <= rest < step, for the widest step that divides k: 8 for 8 * block + lane and 16.
struct Stepped {
    std::int64_t step = 1;
    Divided parts;
};

Stepped widestStep(const LinearForm& form, std::int64_t k, const VarRanges& ranges) {
    Stepped widest;
    for (const auto& [atom, factor] : form.terms) {
        const std::int64_t step = std::abs(factor);
        if (step <= widest.step || k % step != 0)
            continue;
        Divided parts = divideOut(form, step);
        const Range rest = rangeOf(parts.rest, ranges);
        if (rest.min >= 0 && rest.max < step)
            widest = {step, std::move(parts)};
    }
    return widest;
}

LinearForm divideForm(const LinearForm& form, std::int64_t k, const VarRanges& ranges) {
    Divided divided = divideOut(form, k);
    const Range range = rangeOf(divided.rest, ranges);
    if (floorDivide(range.min, k) == floorDivide(range.max, k))
        divided.quotient.constant += floorDivide(range.min, k);
    else if (const Stepped stepped = widestStep(divided.rest, k, ranges); stepped.step > 1)
        divided.quotient.add(divideForm(stepped.parts.quotient, k / stepped.step, ranges));
    else
        divided.quotient.add(quotientAtom(divided.rest, k, ranges));
    return divided.quotient;
}

LinearForm moduloForm(const LinearForm& form, std::int64_t k, const VarRanges& ranges) {
    LinearForm rest = divideOut(form, k).rest;
    const Range range = rangeOf(rest, ranges);
    if (floorDivide(range.min, k) == floorDivide(range.max, k)) {
        rest.constant -= floorDivide(range.min, k) * k;
        return rest;
    }
    if (const Stepped stepped = widestStep(rest, k, ranges); stepped.step > 1) {
        LinearForm both = stepped.parts.rest;
        both.add(moduloForm(stepped.parts.quotient, k / stepped.step, ranges), stepped.step);
        return both;
    }
    return atomForm(fromLinear(rest, ranges) % Expr(k));
}

LinearForm linearProduct(const Expr& e, const VarRanges& ranges) {
    const LinearForm a = toLinear(e->args[0], ranges), b = toLinear(e->args[1], ranges);
    LinearForm product;
    if (b.isConstant())
        product.add(a, b.constant);
    else if (a.isConstant())
        product.add(b, a.constant);
    else
        product = atomForm(fromLinear(a, ranges) * fromLinear(b, ranges));
    return product;
}

LinearForm linearQuotient(const Expr& e, const VarRanges& ranges) {
    const LinearForm a = toLinear(e->args[0], ranges), b = toLinear(e->args[1], ranges);
    if (b.isConstant() && b.constant > 0)
        return e->op == Op::div ? divideForm(a, b.constant, ranges) : moduloForm(a, b.constant, ranges);
    return atomForm(binary(e->op, fromLinear(a, ranges), fromLinear(b, ranges)));
}

LinearForm linearExtremum(const Expr& e, const VarRanges& ranges) {
    const LinearForm a = toLinear(e->args[0], ranges), b = toLinear(e->args[1], ranges);
    LinearForm difference = a;
    difference.add(b, -1);
    const Range range = rangeOf(difference, ranges);
    if (range.max <= 0)
        return e->op == Op::min ? a : b;
    if (range.min >= 0)
        return e->op == Op::min ? b : a;
    return atomForm(binary(e->op, fromLinear(a, ranges), fromLinear(b, ranges)));
}

LinearForm linearSum(const Expr& e, const VarRanges& ranges);

Expr simplifyArguments(const Expr& e, const VarRanges& ranges) {
    std::vector<Expr> args;
    for (const Expr& arg : e->args)
        args.push_back(simplify(arg, ranges));
    return rebuild(e, std::move(args));
}

} // namespace

namespace {

// Remembers the forms of operators that ask for ranges of their operands: else each level would take the one below apart twice.
LinearForm boundedForm(const Expr& e, const VarRanges& ranges) {
    if (const LinearForm* const known = ranges.knownForm(e))
        return *known;
    LinearForm form = e->op == Op::div || e->op == Op::mod ? linearQuotient(e, ranges) : linearExtremum(e, ranges);
    ranges.remember(e, form);
    return form;
}

} // namespace

LinearForm toLinear(const Expr& e, const VarRanges& ranges) {
    assert(e->type == DType::i64);
    switch (e->op) {
    case Op::constant:
    case Op::var: return atomForm(e);
    case Op::add:
    case Op::sub: return linearSum(e, ranges);
    case Op::neg: {
        LinearForm form;
        form.add(toLinear(e->args[0], ranges), -1);
        return form;
    }
    case Op::mul: return linearProduct(e, ranges);
    case Op::div:
    case Op::mod:
    case Op::min:
    case Op::max: return boundedForm(e, ranges);
    default: return atomForm(simplifyArguments(e, ranges));
    }
}

std::optional<std::int64_t> strideAlong(const Expr& e, const Var& var) {
    LinearForm form = toLinear(e, VarRanges());
    const std::int64_t stride = form.coefficient(var);
    form.add(Expr(var), -stride);
    if (std::ranges::any_of(form.terms, [&](const auto& term) { return usesVar(term.first, var); }))
        return std::nullopt;
    return stride;
}

namespace {

std::int64_t coefficientOf(const LinearForm& form, const Expr& atom) {
    const auto found = std::ranges::find_if(form.terms, [&](const auto& term) { return sameExpr(term.first, atom); });
    return found == form.terms.end() ? 0 : found->second;
}

// c * (E % k) + c * k * floor(E / k) = c * E: what fused loops are made of. The quotient may have been simplified, as 16 * i / 784 to i / 49.
bool recombineOnce(LinearForm& form, const VarRanges& ranges) {
    for (const auto& [remainder, factor] : form.terms) {
        const auto k = remainder->op == Op::mod ? constantValue(remainder->args[1]) : std::nullopt;
        if (!k || *k <= 0)
            continue;
        const std::int64_t c = factor, wanted = c * *k;
        if (std::ranges::none_of(form.terms, [&](const auto& term) { return term.first->op == Op::div && term.second == wanted; }))
            continue;
        const LinearForm whole = toLinear(remainder->args[0], ranges), quotient = divideForm(whole, *k, ranges);
        if (std::ranges::any_of(quotient.terms, [&](const auto& term) { return coefficientOf(form, term.first) != wanted * term.second; }))
            continue;
        const Expr gone = remainder;
        form.add(gone, -c);
        form.add(quotient, -wanted);
        form.add(whole, c);
        return true;
    }
    return false;
}

LinearForm linearSum(const Expr& e, const VarRanges& ranges) {
    LinearForm form = toLinear(e->args[0], ranges);
    form.add(toLinear(e->args[1], ranges), e->op == Op::add ? 1 : -1);
    while (recombineOnce(form, ranges)) {
    }
    return form;
}

int depthOfAtom(const Expr& atom, const VarRanges& ranges) {
    if (atom->op == Op::var)
        return ranges.depthOf(atom->var);
    int depth = -1;
    for (const Expr& arg : atom->args)
        depth = std::max(depth, depthOfAtom(arg, ranges));
    return depth;
}

} // namespace

Expr fromLinear(const LinearForm& form, const VarRanges& ranges) {
    auto terms = form.terms;
    std::stable_sort(terms.begin(), terms.end(), [&](const auto& a, const auto& b) {
        return depthOfAtom(a.first, ranges) < depthOfAtom(b.first, ranges);
    });
    Expr sum;
    for (const auto& [atom, factor] : terms) {
        if (sum.valid() && factor < 0)
            sum = sum - atom * Expr(-factor);
        else
            sum = sum.valid() ? sum + atom * Expr(factor) : atom * Expr(factor);
    }
    if (!sum.valid())
        return Expr(form.constant);
    return form.constant < 0 ? sum - Expr(-form.constant) : sum + Expr(form.constant);
}

namespace {

Range rangeOfAtom(const Expr& atom, const VarRanges& ranges) {
    const Range everything{-kUnbounded, kUnbounded};
    if (atom->op == Op::var)
        return ranges.of(atom->var);
    if (atom->op == Op::min || atom->op == Op::max) {
        const Range a = rangeOf(atom->args[0], ranges), b = rangeOf(atom->args[1], ranges);
        return atom->op == Op::min ? Range{std::min(a.min, b.min), std::min(a.max, b.max)}
                                   : Range{std::max(a.min, b.min), std::max(a.max, b.max)};
    }
    if (atom->op == Op::select) {
        const Range a = rangeOf(atom->args[1], ranges), b = rangeOf(atom->args[2], ranges);
        return {std::min(a.min, b.min), std::max(a.max, b.max)};
    }
    if (atom->op != Op::div && atom->op != Op::mod)
        return everything;
    const auto k = constantValue(atom->args[1]);
    if (!k || *k <= 0)
        return everything;
    const Range inner = rangeOf(atom->args[0], ranges);
    if (atom->op == Op::mod)
        return inner.min >= 0 && inner.max < *k ? inner : Range{0, *k - 1};
    return {floorDivide(inner.min, *k), floorDivide(inner.max, *k)};
}

} // namespace

Range rangeOf(const LinearForm& form, const VarRanges& ranges) {
    __int128_t low = form.constant, high = form.constant;
    for (const auto& [atom, factor] : form.terms) {
        const Range range = rangeOfAtom(atom, ranges);
        const __int128_t a = static_cast<__int128_t>(range.min) * factor, b = static_cast<__int128_t>(range.max) * factor;
        low += std::min(a, b);
        high += std::max(a, b);
    }
    return {clampToBound(low), clampToBound(high)};
}

Range rangeOf(const Expr& e, const VarRanges& ranges) { return rangeOf(toLinear(e, ranges), ranges); }

namespace {

// k*Q + R < 0 says the same as Q < 0 when 0 <= R < k: 16*co + ci < 64 is co < 4. Likewise for >= 0. None: no such k.
std::optional<LinearForm> withoutRemainder(const LinearForm& form, const VarRanges& ranges) {
    for (const auto& [atom, factor] : form.terms) {
        const std::int64_t k = factor < 0 ? -factor : factor;
        if (k <= 1)
            continue;
        Divided divided = divideOut(form, k);
        const Range range = rangeOf(divided.rest, ranges);
        if (!divided.rest.terms.empty() && range.min >= 0 && range.max < k)
            return divided.quotient;
    }
    return std::nullopt;
}

// a OP b decided by the range of a - b, or rebuilt over simplified sides.
Expr simplifyComparison(const Expr& e, const VarRanges& ranges) {
    const LinearForm a = toLinear(e->args[0], ranges), b = toLinear(e->args[1], ranges);
    LinearForm difference = a;
    difference.add(b, -1);
    const Range d = rangeOf(difference, ranges);
    const auto decide = [&](bool always, bool never) {
        if (always || never)
            return constantInt(DType::boolean, always);
        if (e->op == Op::less || e->op == Op::greaterEqual)
            if (const auto quotient = withoutRemainder(difference, ranges)) {
                LinearForm variable = *quotient;
                variable.constant = 0;
                return simplify(binary(e->op, fromLinear(variable, ranges), Expr(-quotient->constant)), ranges);
            }
        return binary(e->op, fromLinear(a, ranges), fromLinear(b, ranges));
    };
    switch (e->op) {
    case Op::less: return decide(d.max < 0, d.min >= 0);
    case Op::lessEqual: return decide(d.max <= 0, d.min > 0);
    case Op::greater: return decide(d.min > 0, d.max <= 0);
    case Op::greaterEqual: return decide(d.min >= 0, d.max < 0);
    case Op::equal: return decide(d.min == 0 && d.max == 0, d.min > 0 || d.max < 0);
    case Op::notEqual: return decide(d.min > 0 || d.max < 0, d.min == 0 && d.max == 0);
    default: return e;
    }
}

// Whether a number is made of loop variables and of what is bounded, so that no step to it wraps around: numbers that tensors
// hold may.
bool isIndex(const Expr& e, const VarRanges& ranges) {
    if (e->type != DType::i64)
        return false;
    const auto isIndexToo = [&](const Expr& arg) { return isIndex(arg, ranges); };
    switch (e->op) {
    case Op::constant: return e->intValue > -kUnbounded && e->intValue < kUnbounded;
    case Op::var: return true;
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::mod:
    case Op::neg: return std::ranges::all_of(e->args, isIndexToo);
    case Op::min:
    case Op::max:
    case Op::select: break;
    default: return false;
    }
    if (std::all_of(e->args.end() - 2, e->args.end(), isIndexToo))
        return true;
    const Range range = rangeOf(e, ranges);
    return range.min > -kUnbounded && range.max < kUnbounded;
}

} // namespace

std::optional<LinearForm> asNonNegative(const Expr& comparison, const VarRanges& ranges) {
    if (comparison->args.size() != 2 || !isIndex(comparison->args[0], ranges) || !isIndex(comparison->args[1], ranges))
        return std::nullopt;
    const LinearForm a = toLinear(comparison->args[0], ranges), b = toLinear(comparison->args[1], ranges);
    const bool less = comparison->op == Op::less || comparison->op == Op::lessEqual;
    const bool greater = comparison->op == Op::greater || comparison->op == Op::greaterEqual;
    if (!less && !greater)
        return std::nullopt;
    LinearForm form = less ? b : a;
    form.add(less ? a : b, -1);
    form.constant -= comparison->op == Op::less || comparison->op == Op::greater;
    return form;
}

Expr simplify(const Expr& e, const VarRanges& ranges) {
    const bool comparison = e->op >= Op::equal && e->op <= Op::greaterEqual;
    if (comparison && isIndex(e->args[0], ranges) && isIndex(e->args[1], ranges))
        return simplifyComparison(e, ranges);
    if (!comparison && isIndex(e, ranges))
        return fromLinear(toLinear(e, ranges), ranges);
    return e->args.empty() ? e : simplifyArguments(e, ranges);
}

} // namespace tunesmith::loops
