// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/rule_proof.h"

#include "core/substitution/axiom_graph.h"

namespace tunesmith::substitution {
namespace {

RuleProof notProved(std::string why) { return {false, {}, std::move(why)}; }

// Each condition is left out if it goes without; in one order or in the other.
ProofSearch withoutSome(const Rule& rule, ProofSearch found, bool fromFirst, const ProofLimits& limits, const StopToken& stop) {
    const std::vector<ShapeCondition> all = found.conditions;
    for (std::size_t i = 0; i < all.size() && !stop.stopRequested(); ++i) {
        std::vector<ShapeCondition> fewer = found.conditions;
        std::erase(fewer, all[fromFirst ? i : all.size() - 1 - i]);
        if (ProofSearch without = searchProofUnder(rule, fewer, limits, stop); without.isFound)
            found = std::move(without);
    }
    return found;
}

ProofSearch withFewConditions(const Rule& rule, const ProofSearch& found, const ProofLimits& limits, const StopToken& stop) {
    ProofSearch one = withoutSome(rule, found, false, limits, stop), other = withoutSome(rule, found, true, limits, stop);
    return other.conditions.size() < one.conditions.size() ? other : one;
}

} // namespace

ProofSearch searchProofUnder(const Rule& rule, const std::vector<ShapeCondition>& conditions, const ProofLimits& limits, const StopToken& stop) {
    ProofSearch search{false, conditions, {}};
    const auto extents = genericExtents(rule, conditions);
    if (!extents)
        return search; // there are no such shapes
    AxiomGraph graph(rule, *extents);
    for (int round = 0; round < limits.rounds && !graph.goalsAreMet(); ++round)
        if (!graph.apply(limits.nodes, stop))
            break;
    search.problem = graph.problem();
    search.isFound = search.problem.isFound;
    return search;
}

ProofSearch searchProof(const Rule& rule, const ProofLimits& limits, const StopToken& stop) {
    ProofSearch plain = searchProofUnder(rule, {}, limits, stop);
    if (plain.isFound)
        return plain;
    ProofSearch guarded = searchProofUnder(rule, conditionsOf(rule), limits, stop);
    return guarded.isFound ? withFewConditions(rule, guarded, limits, stop) : plain;
}

Result<RuleProof> proveRule(const Rule& rule, Z3Prover& z3, const StopToken& stop) {
    const ProofSearch search = searchProof(rule, {}, stop);
    if (stop.stopRequested())
        return cancelledError();
    if (!search.isFound)
        return notProved("no proof was found");
    const auto answer = z3.check(smtText(search.problem), stop);
    if (!answer.ok() && answer.error().kind == ErrorKind::cancelled)
        return answer.error();
    if (!answer.ok())
        return notProved(answer.error().message);
    if (*answer != Z3Prover::Answer::holds)
        return notProved("z3 does not find it in its time");
    RuleProof proof{true, {}, {}};
    for (const ShapeCondition& condition : search.conditions)
        proof.conditions.push_back(toText(condition, rule));
    return proof;
}

void state(const RuleProof& proof, StoredRule& rule) {
    if (rule.status == RuleStatus::refuted) {
        rule.proofConditions.clear();
        rule.whyNotProved.clear();
    } else if (proof.isProved) {
        rule.status = RuleStatus::proved;
        rule.proofConditions = proof.conditions;
        rule.whyNotProved.clear();
    } else if (rule.status != RuleStatus::proved) {
        rule.whyNotProved = proof.whyNot;
    }
}

} // namespace tunesmith::substitution
