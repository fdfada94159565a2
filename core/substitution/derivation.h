// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <span>

#include "core/base/stop_token.h"
#include "core/substitution/term_graph.h"

namespace tunesmith::substitution {

struct DerivationLimits {
    int rounds = 2;           // of rewriting
    std::size_t nodes = 1000; // from which on nothing is added
};

// Whether the known rewrites lead from one side of the rule to the other in this direction.
bool leadsTo(const Rewrite& rewrite, std::span<const Rewrite> known, const DerivationLimits& limits = {});

// Whether the known rewrites lead from one side of the rule to the other, in every direction in which the rule itself could be used: then it
// says nothing new. What they say of depthwise convolutions may be less, so those are looked at, too. No is no proof: a longer way may be left.
bool isDerived(const Rule& rule, std::span<const Rewrite> known, const DerivationLimits& limits = {});

// Whether both sides are equal by what the known rewrites say, on the way from either or from both to something third.
bool isImplied(const Rule& rule, std::span<const Rewrite> known, const DerivationLimits& limits = {});

// The rules that do not follow from earlier ones in the list. The list should begin with the small and general. Null when stopped.
// The result does not depend on the number of threads.
using PruneObserver = std::function<void(std::size_t seen, std::size_t kept)>; // from the calling thread
std::optional<std::vector<Rule>> withoutDerived(const std::vector<Rule>& rules, int threads, const StopToken& stop = {}, const PruneObserver& observer = {});

} // namespace tunesmith::substitution
