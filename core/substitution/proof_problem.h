// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace tunesmith::substitution {

// What is left of a proof when axioms have been chosen and their conditions checked: some terms are equal, do others follow? Terms are
// uninterpreted functions of each other, of which only congruence is known, so a solver decides it at once.
struct ProofProblem {
    struct Call {
        std::string function;              // operator, axis, part and kernel; where a split cuts and how large a constant is
        std::vector<std::size_t> operands; // numbers of earlier calls
        bool operator==(const Call&) const = default;
    };
    struct Step {
        std::string axiom; // its name
        std::size_t left = 0, right = 0;
    };
    std::vector<Call> calls;
    std::vector<Step> steps;
    std::vector<std::pair<std::size_t, std::size_t>> goals; // the results of both sides
    bool isFound = false; // the goals follow, as far as whoever chose the steps can tell
};

// As SMT-LIB 2: the steps, and that not all goals are true. `unsat` is the proof.
std::string smtText(const ProofProblem& problem);

} // namespace tunesmith::substitution
