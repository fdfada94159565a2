// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rule_trials.h"

#include <algorithm>
#include <atomic>

#include "core/substitution/rule_proof.h"
#include "core/workbench/for_each_rule.h"
#include "core/workbench/rule_rows.h"

namespace tunesmith {
namespace {

using namespace substitution;

std::int64_t trialsOfEach(const std::vector<StoredRule>& rules, const RuleTrialOptions& options, const Work& work) {
    if (options.total <= 0)
        return options.trials;
    std::atomic<std::int64_t> directions = 0;
    forEachRule(rules.size(), "looking where rules can be applied", options.threads, work,
                [&](std::size_t i, std::size_t) { directions += rewrite::applicableDirections(rules[i].rule, options.seed, work.stop); });
    const std::int64_t each = std::max<std::int64_t>(1, directions);
    return std::max(options.trials, (options.total + each - 1) / each);
}

} // namespace

Result<std::vector<std::optional<VerifiedRule>>> verifyRows(Store& store, std::vector<RuleRow> rows, const RuleTrialOptions& options, const Work& work) {
    std::vector<StoredRule> rules;
    for (const RuleRow& row : rows) {
        TS_ASSIGN(StoredRule rule, storedOf(row));
        rules.push_back(std::move(rule));
    }
    const std::int64_t trials = trialsOfEach(rules, options, work);
    std::vector<Z3Prover> provers(threadsFor(options.threads));
    std::vector<std::optional<VerifiedRule>> done(rules.size());
    forEachRule(rules.size(), "proving and trying rules", options.threads, work, [&](std::size_t i, std::size_t thread) {
        const auto proof = proveRule(rules[i].rule, provers[thread], work.stop);
        const auto verdict = proof.ok() ? rewrite::verifyRule(rules[i].rule, trials, options.seed, work.stop) : std::nullopt;
        if (!verdict)
            return; // it was stopped
        state(*verdict, rules[i]);
        state(*proof, rules[i]);
        done[i] = {*verdict, rules[i]};
    });
    std::vector<RuleRow> verified;
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (done[i]) {
            verified.push_back(rowOf(rules[i]));
            verified.back().createdAt = rows[i].createdAt;
        }
    TS_TRY(store.addRules(verified));
    return done;
}

std::vector<std::string> counterExamplesAsTaso(const std::vector<StoredRule>& rules, const RuleTrialOptions& options, const Work& work) {
    std::vector<std::string> examples(rules.size());
    forEachRule(rules.size(), "looking for rules that do not hold", options.threads, work,
                [&](std::size_t i, std::size_t) { examples[i] = rewrite::counterExampleAsTaso(rules[i], options.trials, options.seed, work.stop); });
    return examples;
}

} // namespace tunesmith
