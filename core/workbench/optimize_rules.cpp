// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/optimize_rules.h"

#include <algorithm>

#include "core/rewrite/stored_substitution.h"
#include "core/rewrite/written/written.h"
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
    for (const RuleRow& row : rows) {
        if (!isVerified(row))
            continue;
        TS_ASSIGN(const substitution::StoredRule stored, storedOf(row));
        if (SubstitutionPtr rule = rewrite::storedSubstitution(stored))
            rules.push_back(std::move(rule));
    }
    if (std::ranges::none_of(rows, isVerified))
        return noneVerified(path, rows.size());
    if (rules.empty())
        return inputError("no verified rule of the store " + path + " leads a search anywhere; `rules generate --store " + path + "` finds others");
    return rules;
}

Result<std::vector<SubstitutionPtr>> setOf(const OptimizeRequest& request) {
    const std::vector<NamedText> sets = graphRuleSets();
    if (std::ranges::find(sets, request.rules, &NamedText::name) == sets.end())
        return inputError("there is no set of rules '" + request.rules + "'; there are written, stored and all");
    std::vector<SubstitutionPtr> rules;
    if (request.rules != "stored")
        rules = rewrite::writtenSubstitutions();
    if (request.rules != "written") {
        TS_ASSIGN(std::vector<SubstitutionPtr> stored, storedSubstitutions(request.store));
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
    TS_ASSIGN(const std::vector<SubstitutionPtr> rules, setOf(request));
    std::vector<GraphRule> all;
    for (const SubstitutionPtr& rule : rules)
        all.push_back({rule->card().name, rule->card().equation, rule->card().conditions, rule->card().evidence});
    return all;
}

Result<std::vector<SubstitutionPtr>> substitutionsOf(const OptimizeRequest& request) {
    TS_ASSIGN(std::vector<SubstitutionPtr> rules, setOf(request));
    for (const std::string& name : request.without)
        if (std::erase_if(rules, [&](const SubstitutionPtr& rule) { return rule->card().name == name; }) == 0 && !isKnown(name, request.store))
            return inputError("there is no rule '" + name + "' to do without; `rules list --written` and `rules list` name them");
    return rules;
}

} // namespace tunesmith
