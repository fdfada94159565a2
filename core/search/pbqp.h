// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <vector>

namespace tunesmith {

// A partitioned boolean quadratic problem: every node takes one of its alternatives, which costs something by itself and
// together with what each neighbour takes. Infinity forbids; costs are neither NaN nor minus infinity.
struct PbqpEdge {
    std::size_t a = 0, b = 0;
    std::vector<double> costs; // row after row: costs[i * alternatives of b + j]
};

struct PbqpProblem {
    std::vector<std::vector<double>> nodes; // the costs of each one's alternatives; at least one
    std::vector<PbqpEdge> edges;            // between different nodes; several between the same two add up

    double cost(const std::vector<std::size_t>& choice) const;
};

struct PbqpSolution {
    bool feasible = false;
    bool proven = false;             // nothing is cheaper; where not feasible: there is no solution
    double cost = 0;                 // of the choice
    std::vector<std::size_t> choice; // an alternative of each node; empty where not feasible
};

// Nodes of up to two neighbours are eliminated exactly (R0, RI, RII), so that trees and series-parallel graphs are solved by
// what amounts to dynamic programming; what is left is branched on, the cheapest guess first (the RN heuristic is its first
// descent), pruned by lower bounds, and no further after `branches`, or where copies of it take 256 MiB at a time or 32 GiB in all. Of equals
// the first, the same each time.
// (Scholz and Eckstein, Register allocation for irregular architectures, LCTES 2002; Hames and Scholz, JMLC 2006.)
PbqpSolution solvePbqp(const PbqpProblem& problem, std::size_t branches = 20000);

} // namespace tunesmith
