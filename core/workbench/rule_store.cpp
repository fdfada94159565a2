// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rule_store.h"

#include <span>

#include "core/base/atomic_file.h"
#include "core/substitution/rule_text.h"
#include "core/workbench/open_store.h"
#include "core/workbench/rule_equation.h"
#include "core/workbench/rule_keeper.h"
#include "core/workbench/rule_rows.h"

namespace tunesmith {
namespace {

using namespace substitution;

Result<KeptRule> keptOf(const RuleRow& row) {
    TS_ASSIGN(const StoredRule stored, storedOf(row));
    return KeptRule{row.name, equationOf(stored.rule), row.text, row.origin, row.status, row.trials, row.preconditions, row.counterExample,
                    row.proofConditions, row.whyNotProved};
}

} // namespace

Result<KeptRules> keptRules(const std::string& store) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<RuleRow> rows, opened->rules());
    KeptRules kept;
    for (const RuleRow& row : rows)
        if (auto rule = keptOf(row); rule.ok())
            kept.rules.push_back(std::move(*rule));
        else
            kept.unreadable.push_back(rule.error().message);
    return kept;
}

Result<KeptRule> keptRule(const std::string& store, const std::string& name) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::optional<RuleRow> row, opened->rule(name));
    if (!row)
        return inputError("the store " + opened->path() + " has no rule '" + name + "'; `rules list` names those that it has");
    return keptOf(*row);
}

Result<std::size_t> exportRules(const std::string& store, const std::string& file) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<RuleRow> rows, opened->rules());
    const std::vector<StoredRule> rules = readableOf(rows);
    TS_ASSIGN(AtomicFile output, AtomicFile::create(file));
    const std::string text = "# " + std::to_string(rules.size()) + " substitutions\n" + storedRulesText(rules);
    TS_TRY(output.write(std::as_bytes(std::span(text))));
    TS_TRY(output.commit());
    return rules.size();
}

Result<std::size_t> keepRules(const std::string& store, const GeneratedRules& generated) {
    std::vector<StoredRule> rules;
    for (const RuleEquation& equation : generated.rules) {
        TS_ASSIGN(Rule rule, parseRule(equation.text()));
        rules.push_back({"generated/" + std::to_string(rules.size() + 1), std::move(rule), "generated", {}, 0, {}, {}, {}, {}});
    }
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readWrite));
    return keepIn(*opened, rules);
}

} // namespace tunesmith
