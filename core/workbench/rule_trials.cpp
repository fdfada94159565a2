// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rule_trials.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/workbench/machine.h"
#include "core/workbench/rule_rows.h"

namespace tunesmith {
namespace {

using namespace substitution;

// Calls `f` with 0 to count - 1 on as many threads, the caller's among them, until all are done or it is asked to stop. The caller's reports.
template <class F> void forEachRule(std::size_t count, const std::string& phase, int threads, const Work& work, const F& f) {
    std::atomic<std::size_t> next = 0, done = 0;
    const auto run = [&](bool reports) {
        for (std::size_t i = next++; i < count && !work.stop.stopRequested(); i = next++) {
            f(i);
            ++done;
            if (reports)
                work.report(phase, static_cast<double>(done) / static_cast<double>(count), std::to_string(done) + " of " + std::to_string(count));
        }
    };
    std::vector<std::jthread> helpers;
    for (int t = 1; t < (threads > 0 ? threads : usableCores()); ++t)
        helpers.emplace_back(run, false);
    run(true);
}

std::int64_t trialsOfEach(const std::vector<StoredRule>& rules, const RuleTrialOptions& options, const Work& work) {
    if (options.total <= 0)
        return options.trials;
    std::atomic<std::int64_t> directions = 0;
    forEachRule(rules.size(), "looking where rules can be applied", options.threads, work,
                [&](std::size_t i) { directions += rewrite::applicableDirections(rules[i].rule, options.seed, work.stop); });
    const std::int64_t each = std::max<std::int64_t>(1, directions);
    return std::max(options.trials, (options.total + each - 1) / each);
}

} // namespace

Result<std::vector<std::optional<rewrite::RuleVerdict>>> verifyRows(Store& store, std::vector<RuleRow> rows, const RuleTrialOptions& options, const Work& work) {
    std::vector<StoredRule> rules;
    for (const RuleRow& row : rows) {
        TS_ASSIGN(StoredRule rule, storedOf(row));
        rules.push_back(std::move(rule));
    }
    std::vector<std::optional<rewrite::RuleVerdict>> verdicts(rules.size());
    const std::int64_t trials = trialsOfEach(rules, options, work);
    forEachRule(rules.size(), "trying rules", options.threads, work, [&](std::size_t i) { verdicts[i] = rewrite::verifyRule(rules[i].rule, trials, options.seed, work.stop); });
    std::vector<RuleRow> verified;
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (verdicts[i]) {
            state(*verdicts[i], rules[i]);
            verified.push_back(rowOf(rules[i]));
            verified.back().createdAt = rows[i].createdAt;
        }
    TS_TRY(store.addRules(verified));
    return verdicts;
}

std::vector<std::string> counterExamplesAsTaso(const std::vector<StoredRule>& rules, const RuleTrialOptions& options, const Work& work) {
    std::vector<std::string> examples(rules.size());
    forEachRule(rules.size(), "looking for rules that do not hold", options.threads, work,
                [&](std::size_t i) { examples[i] = rewrite::counterExampleAsTaso(rules[i], options.trials, options.seed, work.stop); });
    return examples;
}

} // namespace tunesmith
