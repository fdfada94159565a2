// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rule_verification.h"

#include <algorithm>
#include <chrono>

#include "core/substitution/z3_prover.h"
#include "core/workbench/open_store.h"
#include "core/workbench/rule_rows.h"
#include "core/workbench/rule_trials.h"

namespace tunesmith {
namespace {

using Outcome = rewrite::RuleVerdict::Outcome;

bool isNamed(const RuleRow& row, const std::string& name) { return row.name == name || row.name.starts_with(name + "/"); }

Result<std::vector<RuleRow>> rowsNamed(const Store& store, const std::vector<std::string>& names) {
    TS_ASSIGN(std::vector<RuleRow> rows, store.rules());
    for (const std::string& name : names)
        if (std::ranges::none_of(rows, [&](const RuleRow& row) { return isNamed(row, name); }))
            return inputError("the store " + store.path() + " has no rule or family '" + name + "'; `rules list` names those that it has");
    std::erase_if(rows, [&](const RuleRow& row) { return !names.empty() && std::ranges::none_of(names, [&](const std::string& name) { return isNamed(row, name); }); });
    std::erase_if(rows, [](const RuleRow& row) { return readableOf({row}).empty(); });
    return rows;
}

void count(RuleVerification& done, const RuleRow& row, const VerifiedRule& verified) {
    const auto& [verdict, rule] = verified;
    ++done.rules;
    done.proved += rule.status == substitution::RuleStatus::proved;
    done.provedIf += !rule.proofConditions.empty();
    if (rule.whyNotProved == substitution::kNoZ3)
        done.whyNotProved = rule.whyNotProved;
    done.directions += verdict.directions.size();
    done.trials += verdict.trials;
    switch (verdict.outcome) {
    case Outcome::sound: ++done.sound; break;
    case Outcome::guarded: ++done.guarded; break;
    case Outcome::foundShapesOnly: ++done.foundShapesOnly; break;
    case Outcome::refuted: done.refuted.push_back({row.name, verdict.counterExample});
    }
}

} // namespace

Result<RuleVerification> verifyRules(const std::string& store, const std::vector<std::string>& names, const RuleTrialOptions& options, const Work& work) {
    const auto begun = std::chrono::steady_clock::now();
    TS_TRY(openStore(store, StoreMode::readOnly)); // it is not made for this
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readWrite));
    TS_ASSIGN(const std::vector<RuleRow> rows, rowsNamed(*opened, names));
    TS_ASSIGN(const auto verified, verifyRows(*opened, rows, options, work));
    RuleVerification done;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (verified[i])
            count(done, rows[i], *verified[i]);
    if (work.stop.stopRequested())
        return cancelledError();
    done.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return done;
}

} // namespace tunesmith
