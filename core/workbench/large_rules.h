// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/substitution/rule.h"
#include "core/workbench/rules.h"

namespace tunesmith {

inline constexpr int kMostOperatorsInMemory = 3;

// The part of generateRules() that keeps terms on disk (substitution/large_generation.h): fills in all of `made` but the rules, and returns those.
Result<std::vector<substitution::Rule>> generateLargeRules(const RuleGenerationOptions& options, int threads, const Work& work, GeneratedRules& made);

std::size_t peakMemory(); // of this process so far, in bytes

} // namespace tunesmith
