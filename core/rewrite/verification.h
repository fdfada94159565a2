// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/rewrite/pattern_substitution.h"

namespace tunesmith::rewrite {

// Substitutions tried out: at random legal shapes, groups, strides and pads, with the operators as the reference kernels have them. What is
// applied is what searches apply.

struct TrialCounts {
    std::int64_t compared = 0; // applied, and both sides computed
    std::int64_t refused = 0;  // found, but the rule itself would not
    std::int64_t unfit = 0;    // no model came of the random choices, or the rule's left side was not found in it
};

struct Verdict {
    TrialCounts counts;
    std::string counterExample; // empty: none was found
    bool holds() const { return counterExample.empty(); }
};

// Until so many were compared, one differs, or too few models come about (Trials::run).
Verdict verify(const Substitution& substitution, std::int64_t trials, std::uint64_t seed, const StopToken& stop = {});

// A rule with the conditions under which it was not seen to fail, few of them; those that keep most of the cases in which it is true. Conditions
// are tried four times as often as asked for.
struct NarrowedRule {
    std::vector<Condition> conditions;
    std::string counterExample; // to the rule without the conditions
    Verdict verdict;            // with them
    bool usable() const { return verdict.holds() && verdict.counts.compared > 0; }
};
NarrowedRule narrow(const Rule& rule, bool fromRight, std::int64_t trials, std::uint64_t seed, const StopToken& stop = {});

} // namespace tunesmith::rewrite
