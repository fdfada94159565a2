// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rule_import.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/base/text_file.h"
#include "core/substitution/rule_text.h"
#include "core/substitution/taso_file.h"
#include "core/workbench/open_store.h"
#include "core/workbench/rule_keeper.h"
#include "core/workbench/rule_trials.h"

namespace tunesmith {
namespace {

using namespace substitution;

constexpr std::size_t kMostBytes = 4 << 20; // of a file of rules

Result<std::string> contentOf(const std::string& file) {
    return readText(file, kMostBytes, "a file of rules");
}

bool isText(const std::string& content) {
    return std::ranges::none_of(content, [](unsigned char c) { return c < 32 && c != '\n' && c != '\r' && c != '\t'; });
}

Result<std::vector<StoredRule>> parseRuleFile(const std::string& content, const std::filesystem::path& file) {
    std::vector<StoredRule> rules;
    if (isText(content)) {
        TS_ASSIGN(rules, parseStoredRules(content));
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (rules[i].name.empty())
                rules[i].name = file.stem().string() + "/" + std::to_string(i + 1);
            if (rules[i].origin.empty())
                rules[i].origin = file.filename().string();
        }
        return rules;
    }
    TS_ASSIGN(std::vector<Rule> parsed, parseTasoFile(content));
    for (std::size_t i = 0; i < parsed.size(); ++i) {
        const std::string number = std::to_string(i);
        rules.push_back({"taso/" + number, std::move(parsed[i]), "taso " + number, {}, 0, {}, {}, {}, {}});
    }
    return rules;
}

// Takes away that a rule was tested or proved: anybody can write that into a file, and the import tries it again.
void forgetPraise(StoredRule& rule) {
    if (rule.status == RuleStatus::refuted)
        return;
    rule.status = RuleStatus::untested;
    rule.trials = 0;
    rule.proofConditions.clear();
    rule.whyNotProved.clear();
}

// The rules of a file, each once.
struct DistinctRules {
    explicit DistinctRules(const std::vector<StoredRule>& rules) {
        for (const StoredRule& rule : rules) {
            const auto [place, isNew] = byText.try_emplace(ruleText(rule.rule), all.size());
            placeOf.push_back(place->second);
            if (isNew)
                all.push_back(rule);
        }
    }

    std::vector<StoredRule> all;
    std::map<std::string, std::size_t> byText;
    std::vector<std::size_t> placeOf; // by number in the file
};

std::vector<RuleCounterExample> unsoundOf(const std::vector<StoredRule>& rules, const DistinctRules& distinct, const RuleTrialOptions& options, const Work& work) {
    const std::vector<std::string> examples = counterExamplesAsTaso(distinct.all, options, work);
    std::vector<RuleCounterExample> unsound;
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (const std::string& example = examples[distinct.placeOf[i]]; !example.empty())
            unsound.push_back({rules[i].name, example});
    return unsound;
}

// Verifies those of the rules of which the store says nothing.
Status verifyUntested(Store& store, const DistinctRules& distinct, const RuleTrialOptions& options, const Work& work) {
    TS_ASSIGN(std::vector<RuleRow> rows, store.rules());
    std::erase_if(rows, [&](const RuleRow& row) { return row.status != "untested" || !distinct.byText.contains(row.text); });
    TS_TRY(verifyRows(store, std::move(rows), options, work));
    return {};
}

} // namespace

Result<RuleImport> importRules(const std::string& store, const std::string& file, const RuleTrialOptions& options, const Work& work) {
    TS_ASSIGN(const std::string content, contentOf(file));
    auto rules = parseRuleFile(content, file);
    if (!rules.ok())
        return rules.error().within(file);
    std::ranges::for_each(*rules, forgetPraise);
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readWrite));
    TS_ASSIGN(const std::size_t added, keepIn(*opened, *rules));
    const DistinctRules distinct(*rules);
    RuleImport import{rules->size(), distinct.all.size(), added, unsoundOf(*rules, distinct, options, work)};
    TS_TRY(verifyUntested(*opened, distinct, options, work));
    return work.stop.stopRequested() ? Result<RuleImport>(cancelledError()) : std::move(import);
}

} // namespace tunesmith
