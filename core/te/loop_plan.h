// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/stmt.h"
#include "core/te/ast.h"

namespace tunesmith::te {

// A schedule with all its knobs turned. Loops are numbers: those of the output's dimensions first, then those of what is reduced,
// then what the steps make, one after the other.
struct LoopPlan {
    struct Step { // from = outer * factor + inner; without a factor, from and other are fused into outer
        std::size_t from = 0, other = 0, outer = 0, inner = 0;
        std::int64_t factor = 0;
    };
    std::size_t axes = 0, reduced = 0;
    std::vector<Step> steps;
    std::vector<bool> reduces;          // of every loop: whether it runs over what is reduced
    std::vector<loops::LoopKind> kinds; // of every loop
    std::vector<std::size_t> order;     // the loops that are left, outermost first
    std::optional<std::size_t> lanes;   // the step that splits vector lanes off a reduction: each adds up on its own
    // In a reduction, the loop in one iteration of which a block of the output is added up in a buffer of its own; without one
    // it is added up where it stands.
    std::optional<std::size_t> home;
    std::vector<bool> outside; // of every loop, where there is a home: whether it runs around the block
};

// A checked schedule with numbered loops, in a statement whose sizes and ranges are known.
struct NumberedSchedule {
    std::string source;
    ScheduleText text;
    Sizes sizes;
    std::vector<std::string> names;               // of the loops
    std::vector<std::int64_t> extents;            // of the statement's own loops
    LoopPlan blank;                               // its steps have no factors yet
    std::vector<std::vector<Term>> factors;       // of each step: it splits by their product, or fuses where there are none
    std::vector<std::vector<std::size_t>> marked; // the loops of each mark
    std::vector<std::size_t> natural;             // the order where the text has none
    std::int64_t operations = 1;                  // of the statement's value, and reads
    std::size_t guardedLoops = 0;                 // over the variables of guards, for each guard: at each loop its bodies may double
    std::int64_t elementBytes = 0;
};

// `values` are sizes and knobs. An Error says what this choice of knobs breaks: a requirement, a limit, or a rule about which loops
// can be vectorized, parallel or accumulated in.
Result<LoopPlan> planLoops(const NumberedSchedule& schedule, const Sizes& values);

} // namespace tunesmith::te
