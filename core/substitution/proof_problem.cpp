// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/proof_problem.h"

#include <set>

namespace tunesmith::substitution {
namespace {

std::string equation(std::size_t a, std::size_t b) { return "(= t" + std::to_string(a) + " t" + std::to_string(b) + ")"; }

std::string declaration(const ProofProblem::Call& call) {
    std::string text = "(declare-fun " + call.function + " (";
    for (std::size_t i = 0; i < call.operands.size(); ++i)
        text += i == 0 ? "Tensor" : " Tensor";
    return text + ") Tensor)\n";
}

std::string definition(std::size_t number, const ProofProblem::Call& call) {
    std::string value = call.function;
    for (const std::size_t operand : call.operands)
        value += " t" + std::to_string(operand);
    return "(define-fun t" + std::to_string(number) + " () Tensor " + (call.operands.empty() ? value : "(" + value + ")") + ")\n";
}

} // namespace

std::string smtText(const ProofProblem& problem) {
    std::string text = "(set-logic QF_UF)\n(declare-sort Tensor 0)\n";
    std::set<std::string> declared;
    for (std::size_t i = 0; i < problem.calls.size(); ++i) {
        if (declared.insert(problem.calls[i].function).second)
            text += declaration(problem.calls[i]);
        text += definition(i, problem.calls[i]);
    }
    for (const ProofProblem::Step& step : problem.steps)
        text += "(assert " + equation(step.left, step.right) + ") ; " + step.axiom + "\n";
    text += "(assert (not (and true";
    for (const auto& [left, right] : problem.goals)
        text += " " + equation(left, right);
    return text + ")))\n(check-sat)\n";
}

} // namespace tunesmith::substitution
