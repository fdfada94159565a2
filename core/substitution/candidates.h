// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/substitution/rule.h"

namespace tunesmith::substitution {

struct CandidateCounts {
    std::size_t classes = 0;      // of equal terms, more than one in each
    std::size_t pairs = 0;        // a term and the smallest that is equal to it
    std::size_t shared = 0;       // two results that share an operator, and others that are equal to them
    std::size_t fromOperands = 0; // say no more than what their operands are
    std::size_t untrue = 0;       // hold for what stands for Relu and the largest of a window, not for those
    std::size_t renamed = 0;      // differ from another in names, or say less
};

// What an equation says in general, if it holds for the operators as they are and says more than what its operands are; else counts why not.
std::optional<Rule> candidateOf(const Rule& found, CandidateCounts& counts);

// The rules that equal fingerprints suggest, by size: two terms that are equal, and two results that share an operator on one side at
// least. One of each that differ in names only; those that only repeat a smaller rule inside of an operator are left out.
Result<std::vector<Rule>> findCandidates(const TermEnumeration& all, CandidateCounts* counts = nullptr, const StopToken& stop = {});

} // namespace tunesmith::substitution
