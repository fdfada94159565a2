// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/substitution/derivation.h"

namespace tunesmith::substitution {

// What rules say to write, and those of them that can be undone. The rules must outlive it.
struct KnownRewrites {
    std::vector<Rewrite> all, reversible;
    void add(const Rule& rule);
    KnownRewrites without(const Rule& rule) const; // the object that was added
};

// Whether a rule says nothing new even if the way is long: for large rules, of which isDerived() would leave too many. Both sides are equal by
// rewrites that can be undone - then either side can be reached from the other, in twice the rounds - or each direction is led to. A
// direction that splits more things of which it uses one part only is no loss: nobody wants to compute both for one.
bool isConsequence(const Rule& rule, const KnownRewrites& known, const DerivationLimits& limits);

} // namespace tunesmith::substitution
