// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/substitution/proof_problem.h"
#include "core/substitution/rule_extents.h"
#include "core/substitution/stored_rule.h"
#include "core/substitution/z3_prover.h"

namespace tunesmith::substitution {

// A proof of a rule from the axioms, for all shapes: of whatever extents and groups, as long as operands of both sides fit, variables are put
// together where splits want it, results of both sides have equal shapes and the conditions hold. It is of terms: convolutions have stride 1 and
// keep the size, pools count their pads, matrices have no batch dimensions. What a model may have beyond that, trials tell.
//
// In two steps. Our search chooses which axioms to use on which terms (axiom_graph.h), and checks their conditions on extents that stand for any; then
// z3 is asked whether the rule follows from those.
struct ProofSearch {
    bool isFound = false;
    std::vector<ShapeCondition> conditions; // enough of them: without any one of these none was found
    ProofProblem problem;
};

struct ProofLimits {
    int rounds = 6;
    std::size_t nodes = 2000;
};

// Without conditions if that goes, else with few of those that the shapes with which the rule was found meet.
ProofSearch searchProof(const Rule& rule, const ProofLimits& limits = {}, const StopToken& stop = {});
ProofSearch searchProofUnder(const Rule& rule, const std::vector<ShapeCondition>& conditions, const ProofLimits& limits = {}, const StopToken& stop = {});

struct RuleProof {
    bool isProved = false;
    std::vector<std::string> conditions; // of what is proved: enough for it
    std::string whyNot;                  // of what is not: "no proof was found", "z3 is not installed"
};
// Nothing but a `cancelled` error is one: what else goes wrong says why there is no proof.
Result<RuleProof> proveRule(const Rule& rule, Z3Prover& z3, const StopToken& stop = {});

// Writes down what came of it. What is refuted is not proved, and a proof that was there stays.
void state(const RuleProof& proof, StoredRule& rule);

} // namespace tunesmith::substitution
