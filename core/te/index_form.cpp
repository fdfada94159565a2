// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/te/index_form.h"

#include <algorithm>

#include "core/te/functions.h"
#include "core/te/limits.h"
#include "core/te/printer.h"

namespace tunesmith::te {
namespace {

constexpr std::int64_t kUnbounded = std::int64_t(1) << 60;

std::int64_t bounded(__int128_t value) { return static_cast<std::int64_t>(std::clamp<__int128_t>(value, -kUnbounded, kUnbounded)); }

// a + scale * b, or nothing when a number becomes too large.
std::optional<IndexForm> added(const IndexForm& a, const IndexForm& b, std::int64_t scale) {
    IndexForm made = a;
    const auto fits = [](__int128_t value, std::int64_t limit) { return value <= limit && value >= -limit; };
    const __int128_t constant = static_cast<__int128_t>(b.constant) * scale + a.constant;
    if (!fits(constant, kLargestIndex))
        return std::nullopt;
    made.constant = static_cast<std::int64_t>(constant);
    for (const auto& [atom, factor] : b.factors) {
        const __int128_t whole = static_cast<__int128_t>(factor) * scale + made.factors[atom];
        if (!fits(whole, kLargestFactor))
            return std::nullopt;
        made.factors[atom] = static_cast<std::int64_t>(whole);
        if (whole == 0)
            made.factors.erase(atom);
    }
    return made;
}

} // namespace

std::int64_t floorQuotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::optional<IndexForm> difference(const IndexForm& a, const IndexForm& b) { return added(a, b, -1); }

Error IndexForms::tooLarge(const Term& at) const {
    return errorAt(source_, at.place, "the numbers in this whole-number expression are too large; it goes up to " + std::to_string(kLargestIndex) + " and its factors up to " + std::to_string(kLargestFactor));
}

Result<IndexForm> IndexForms::sum(const Term& at, const IndexForm& a, const IndexForm& b, std::int64_t scale) const {
    const auto made = added(a, b, scale);
    if (!made)
        return tooLarge(at);
    return *made;
}

IndexForm IndexForms::atom(const Term& term, Interval interval) {
    const std::string name = "(" + toText(term) + ")"; // no variable is called so
    atoms_[name] = interval;
    IndexForm form;
    form.factors[name] = 1;
    return form;
}

Interval IndexForms::rangeOf(const IndexForm& form) const {
    __int128_t low = form.constant, high = form.constant;
    for (const auto& [atom, factor] : form.factors) {
        const auto known = atoms_.find(atom);
        const auto variable = variables_.find(atom);
        const Interval interval = known != atoms_.end() ? known->second : variable != variables_.end() ? variable->second : Interval{-kUnbounded, kUnbounded};
        const __int128_t first = static_cast<__int128_t>(interval.low) * factor, last = static_cast<__int128_t>(interval.high) * factor;
        low += std::min(first, last);
        high += std::max(first, last);
    }
    return {bounded(low), bounded(high)};
}

Result<IndexForm> IndexForms::formOf(const Term& term) {
    IndexForm form;
    switch (term.kind) {
    case Term::Kind::integer: form.constant = term.integer; break;
    case Term::Kind::size: form.constant = sizes_.at(term.name); break;
    case Term::Kind::variable: form.factors[term.name] = 1; break;
    case Term::Kind::operation: return operation(term);
    case Term::Kind::call:
        if (term.name == "min" || term.name == "max")
            return extremum(term);
        return atom(term, {-kUnbounded, kUnbounded});
    default: return atom(term, {-kUnbounded, kUnbounded});
    }
    if (form.constant > kLargestIndex)
        return tooLarge(term);
    return form;
}

Result<IndexForm> IndexForms::operation(const Term& term) {
    if (term.name == "/" || term.name == "%")
        return quotient(term);
    const bool linear = term.name == "+" || term.name == "-" || term.name == "*";
    if (!linear)
        return atom(term, {-kUnbounded, kUnbounded});
    TS_ASSIGN(const IndexForm a, formOf(term.args[0]));
    if (term.args.size() == 1)
        return sum(term, {}, a, -1);
    TS_ASSIGN(const IndexForm b, formOf(term.args[1]));
    if (term.name != "*")
        return sum(term, a, b, term.name == "+" ? 1 : -1);
    if (a.isConstant())
        return sum(term, {}, b, a.constant);
    if (b.isConstant())
        return sum(term, {}, a, b.constant);
    const Interval x = rangeOf(a), y = rangeOf(b);
    const auto [low, high] = std::minmax({static_cast<__int128_t>(x.low) * y.low, static_cast<__int128_t>(x.low) * y.high,
                                          static_cast<__int128_t>(x.high) * y.low, static_cast<__int128_t>(x.high) * y.high});
    return atom(term, {bounded(low), bounded(high)});
}

Result<IndexForm> IndexForms::quotient(const Term& term) {
    TS_ASSIGN(const IndexForm a, formOf(term.args[0]));
    TS_ASSIGN(const IndexForm b, formOf(term.args[1]));
    if (!b.isConstant() || b.constant < 1)
        return atom(term, {-kUnbounded, kUnbounded});
    const Interval whole = rangeOf(a);
    const Interval quotient{floorQuotient(whole.low, b.constant), floorQuotient(whole.high, b.constant)};
    if (a.isConstant()) {
        IndexForm form;
        form.constant = term.name == "/" ? quotient.low : a.constant - quotient.low * b.constant;
        return form;
    }
    if (term.name == "/")
        return atom(term, quotient);
    const bool inOnePeriod = quotient.low == quotient.high && whole.low > -kUnbounded && whole.high < kUnbounded;
    return atom(term, inOnePeriod ? Interval{whole.low - quotient.low * b.constant, whole.high - quotient.low * b.constant} : Interval{0, b.constant - 1});
}

Result<IndexForm> IndexForms::extremum(const Term& term) {
    TS_ASSIGN(const IndexForm a, formOf(term.args[0]));
    TS_ASSIGN(const IndexForm b, formOf(term.args[1]));
    const Interval x = rangeOf(a), y = rangeOf(b);
    const bool smaller = term.name == "min";
    if (a.isConstant() && b.isConstant())
        return (a.constant < b.constant) == smaller ? a : b;
    return atom(term, smaller ? Interval{std::min(x.low, y.low), std::min(x.high, y.high)} : Interval{std::max(x.low, y.low), std::max(x.high, y.high)});
}

void IndexForms::addFacts(const Term& condition, bool holds, std::vector<IndexForm>& facts) {
    if (condition.kind != Term::Kind::operation || facts.size() >= kMostFacts)
        return;
    if (condition.name == "!" && condition.args.size() == 1)
        return addFacts(condition.args[0], !holds, facts);
    if (condition.name == (holds ? "&&" : "||")) {
        addFacts(condition.args[0], holds, facts);
        return addFacts(condition.args[1], holds, facts);
    }
    const bool aboutIndices = isComparison(condition.name) && std::ranges::all_of(condition.args, [](const Term& side) {
        return side.type == DType::i64 || (side.type == DType::undefined && !side.fraction);
    });
    if (!aboutIndices)
        return;
    const auto left = formOf(condition.args[0]), right = formOf(condition.args[1]);
    if (!left.ok() || !right.ok())
        return;
    const IndexForm &a = *left, &b = *right;
    const std::string& sign = condition.name;
    const auto atMost = [&](const IndexForm& less, const IndexForm& more, std::int64_t by) { // more - less >= by
        IndexForm step;
        step.constant = by;
        if (const auto form = difference(more, less))
            if (const auto fact = difference(*form, step))
                facts.push_back(*fact);
    };
    if (sign == (holds ? "<" : ">="))
        atMost(a, b, 1);
    else if (sign == (holds ? "<=" : ">"))
        atMost(a, b, 0);
    else if (sign == (holds ? ">" : "<="))
        atMost(b, a, 1);
    else if (sign == (holds ? ">=" : "<"))
        atMost(b, a, 0);
    else if (sign == (holds ? "==" : "!=")) {
        atMost(a, b, 0);
        atMost(b, a, 0);
    }
}

} // namespace tunesmith::te
