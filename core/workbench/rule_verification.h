// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/workbench/work.h"

namespace tunesmith {

struct RuleTrialOptions {
    std::int64_t trials = 500; // of each direction of a rule that can be applied
    std::int64_t total = 0;    // of all of them at least, spread evenly
    int threads = 0;           // 0: all cores; the results are the same for any number
    std::uint64_t seed = 1;
};

struct RuleCounterExample {
    std::string rule;    // its name
    std::string example; // "Conv(2x4x5x5, 4x2x3x3) (group 2, ...): result 0 is 3 at element 5, not 7"
};

struct RuleVerification {
    std::size_t rules = 0;
    std::size_t directions = 0;     // of rules that can be applied to models
    std::int64_t trials = 0;
    std::size_t sound = 0;          // true as they stand, however widely they are read
    std::size_t guarded = 0;        // true under conditions
    std::size_t foundShapesOnly = 0; // true with the shapes that they were found with; there is no model for them
    std::vector<RuleCounterExample> refuted;
    std::size_t proved = 0;      // of terms, for all shapes
    std::size_t provedIf = 0;    // of those under conditions
    std::string whyNotProved;    // of the first that is not, if it is for want of the solver
    double seconds = 0;
};

// Proves rules of the store from axioms (the program z3 has the last word; without it nothing is proved), and tries them on random models:
// different shapes, batch dimensions, broadcasting, groups, strides, pads. Writes down what came of it: status, number of trials, conditions under
// which the rule holds, a counter-example without them, and what the proof needs. Names are of rules ("taso/98") or of families ("taso"); none
// means all rules. What is done when the work is stopped is kept.
Result<RuleVerification> verifyRules(const std::string& store, const std::vector<std::string>& names, const RuleTrialOptions& options, const Work& work = {});

} // namespace tunesmith
