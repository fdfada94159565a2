// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/te/ast.h"

namespace tunesmith::te {

// Values from low to high, both included.
struct Interval {
    std::int64_t low, high;
    std::int64_t extent() const { return high - low + 1; }
};
using Intervals = std::map<std::string, Interval>; // of index variables

// An index as factor * atom + ... + constant. Atoms are index variables, by name, and what is not linear (quotients, minima,
// elements of tensors), by its text: equal texts are equal numbers. Every factor and constant is kept within limits.h, so that
// nothing built from them leaves 64 bits.
struct IndexForm {
    std::map<std::string, std::int64_t> factors; // no zeros
    std::int64_t constant = 0;

    bool isConstant() const { return factors.empty(); }
};

// Makes forms of the int64 terms of one statement, once sizes are known. Variables without an interval are unbounded.
class IndexForms {
public:
    IndexForms(const std::string& source, const Sizes& sizes, const Intervals& variables)
        : source_(source), sizes_(sizes), variables_(variables) {}

    Result<IndexForm> formOf(const Term& term);
    Interval rangeOf(const IndexForm& form) const;
    bool isVariable(const std::string& atom) const { return !atoms_.contains(atom); }

    // form >= 0 for what is known if `condition` holds, or if it does not. What cannot be said so is left out.
    void addFacts(const Term& condition, bool holds, std::vector<IndexForm>& facts);

private:
    Result<IndexForm> operation(const Term& term);
    Result<IndexForm> quotient(const Term& term);
    Result<IndexForm> extremum(const Term& term);
    IndexForm atom(const Term& term, Interval interval);
    Result<IndexForm> sum(const Term& at, const IndexForm& a, const IndexForm& b, std::int64_t scale) const;
    Error tooLarge(const Term& at) const;

    std::string source_;
    const Sizes& sizes_;
    const Intervals& variables_;
    Intervals atoms_;
};

// a - b; nullopt where it leaves what a form holds.
std::optional<IndexForm> difference(const IndexForm& a, const IndexForm& b);

std::int64_t floorQuotient(std::int64_t a, std::int64_t b); // b > 0

} // namespace tunesmith::te
