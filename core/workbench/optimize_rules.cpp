// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/optimize_rules.h"

#include <algorithm>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/rewrite/stored_substitution.h"
#include "core/rewrite/verification.h"
#include "core/rewrite/written/written.h"
#include "core/store/user_key.h"
#include "core/workbench/for_each_rule.h"
#include "core/workbench/open_store.h"
#include "core/workbench/rule_rows.h"

namespace tunesmith {
namespace {

using rewrite::SubstitutionPtr;

bool isVerified(const RuleRow& row) { return row.status == "tested" || row.status == "proved"; }

Error noneVerified(const std::string& path, std::size_t rules) {
    const std::string verify = "`rules verify --store " + path + "`";
    if (rules > 0)
        return inputError("none of the " + std::to_string(rules) + " rules of the store " + path + " is verified; " + verify + " does that");
    const std::string generate = "`rules generate --store " + path + "`";
    return inputError("the store " + path + " has no verified rules; " + generate + " finds some, then " + verify + " tries them");
}

// Nothing where there is no such file.
Result<std::vector<RuleRow>> rowsOf(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return std::vector<RuleRow>();
    TS_ASSIGN(const auto opened, openStore(path, StoreMode::readOnly));
    return opened->rules();
}

Result<std::vector<SubstitutionPtr>> storedSubstitutions(const std::string& store) {
    TS_ASSIGN(const std::string path, storePath(store));
    TS_ASSIGN(const std::vector<RuleRow> rows, rowsOf(path));
    std::vector<SubstitutionPtr> rules;
    std::vector<RuleRow> verified;
    std::ranges::copy_if(rows, std::back_inserter(verified), isVerified);
    if (verified.empty())
        return noneVerified(path, rows.size());
    for (const substitution::StoredRule& stored : readableOf(verified))
        if (SubstitutionPtr rule = rewrite::storedSubstitution(stored))
            rules.push_back(std::move(rule));
    if (rules.empty())
        return inputError("no verified rule of the store " + path + " leads a search anywhere; `rules generate --store " + path + "` finds others");
    return rules;
}

// What is wrong with each; "" where nothing is.
std::vector<std::string> faultsOf(const std::vector<SubstitutionPtr>& rules, const OptimizeRequest& request, const Work& work) {
    constexpr std::int64_t kTrials = 200;
    const std::uint64_t seed = Hasher().add(userKey()).add(request.seed).value(); // who made the store does not know on which models
    const int threads = request.gate ? 1 : 0; // others use the machine
    std::vector<std::string> faults(rules.size());
    forEachRule(rules.size(), "trying the rules of the store", threads, work, [&](std::size_t i, std::size_t) {
        const rewrite::Verdict verdict = rewrite::verify(*rules[i], kTrials, seed, work.stop);
        if (!verdict.holds())
            faults[i] = "does not hold: " + verdict.counterExample;
        else if (verdict.counts.compared == 0)
            faults[i] = "could be tried on no model";
    });
    return faults;
}

Status leaveOutFalse(std::vector<SubstitutionPtr>& rules, const OptimizeRequest& request, const Work& work) {
    const std::vector<std::string> faults = faultsOf(rules, request, work);
    if (work.stop.stopRequested())
        return cancelledError();
    std::vector<SubstitutionPtr> left;
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (faults[i].empty())
            left.push_back(rules[i]);
        else
            logMessage(LogLevel::warning, "the rule " + rules[i]->card().name + " of the store is left out: it " + shortened(faults[i]) + "; `rules verify` writes down what holds");
    if (left.empty() && !rules.empty())
        return inputError("no rule of the store that is said to be verified holds; `rules verify` writes down what does");
    rules = std::move(left);
    return {};
}

// Tried again where there is work to do with them.
Result<std::vector<SubstitutionPtr>> setOf(const OptimizeRequest& request, const Work* work) {
    const std::vector<NamedText> sets = graphRuleSets();
    if (std::ranges::find(sets, request.rules, &NamedText::name) == sets.end())
        return inputError("there is no set of rules '" + request.rules + "'; there are written, stored and all");
    std::vector<SubstitutionPtr> rules;
    if (request.rules != "stored")
        rules = rewrite::writtenSubstitutions();
    if (request.rules != "written") {
        TS_ASSIGN(std::vector<SubstitutionPtr> stored, storedSubstitutions(request.store));
        if (work)
            TS_TRY(leaveOutFalse(stored, request, *work));
        std::ranges::move(stored, std::back_inserter(rules));
    }
    return rules;
}

// Whether any set has it, or the store keeps it: who does without a rule that is not used anyway has what was asked for.
bool isKnown(const std::string& name, const std::string& store) {
    const std::vector<SubstitutionPtr> written = rewrite::writtenSubstitutions();
    if (std::ranges::any_of(written, [&](const SubstitutionPtr& rule) { return rule->card().name == name; }))
        return true;
    const auto path = storePath(store);
    const auto rows = path.ok() ? rowsOf(*path) : std::vector<RuleRow>();
    return rows.ok() && std::ranges::find(*rows, name, &RuleRow::name) != rows->end();
}

} // namespace

std::vector<NamedText> graphRuleSets() {
    return {{"written", "rules written by hand"},
            {"stored", "rules of the store that `rules verify` found to hold, as they stand or under conditions"},
            {"all", "both"}};
}

Result<std::vector<GraphRule>> graphRules(const OptimizeRequest& request) {
    TS_ASSIGN(const std::vector<SubstitutionPtr> rules, setOf(request, nullptr));
    std::vector<GraphRule> all;
    for (const SubstitutionPtr& rule : rules)
        all.push_back({rule->card().name, rule->card().equation, rule->card().conditions, rule->card().evidence});
    return all;
}

Result<std::vector<SubstitutionPtr>> substitutionsOf(const OptimizeRequest& request, const Work& work) {
    TS_ASSIGN(std::vector<SubstitutionPtr> rules, setOf(request, &work));
    for (const std::string& name : request.without)
        if (std::erase_if(rules, [&](const SubstitutionPtr& rule) { return rule->card().name == name; }) == 0 && !isKnown(name, request.store))
            return inputError("there is no rule '" + name + "' to do without; `rules list --written` and `rules list` name them");
    return rules;
}

} // namespace tunesmith
