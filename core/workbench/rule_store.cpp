// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rule_store.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "core/base/atomic_file.h"
#include "core/substitution/rule_text.h"
#include "core/substitution/stored_rule.h"
#include "core/substitution/taso_file.h"
#include "core/workbench/open_store.h"
#include "core/workbench/rule_equation.h"

namespace tunesmith {
namespace {

using namespace substitution;

constexpr std::size_t kMostBytes = 4 << 20; // of a file of rules

RuleRow rowOf(const StoredRule& rule) {
    return {ruleText(rule.rule), rule.name, rule.origin, std::string(kRuleStatusNames[static_cast<std::size_t>(rule.status)]), rule.trials, rule.preconditions, rule.counterExample};
}

Result<StoredRule> storedOf(const RuleRow& row) {
    StoredRule stored{row.name, {}, row.origin, {}, row.trials, row.preconditions, row.counterExample};
    auto rule = parseRule(row.text);
    if (!rule.ok())
        return rule.error().within("rule " + row.name);
    stored.rule = std::move(*rule);
    TS_ASSIGN(stored.status, ruleStatusOf(row.status));
    return stored;
}

Result<KeptRule> keptOf(const RuleRow& row) {
    TS_ASSIGN(const StoredRule stored, storedOf(row));
    return KeptRule{row.name, equationOf(stored.rule), row.text, row.origin, row.status, row.trials, row.preconditions, row.counterExample};
}

// A verdict counts more than trials, more trials more than few.
std::tuple<int, std::int64_t> knowledge(const RuleRow& row) {
    const int rank = row.status == "untested" ? 0 : row.status == "tested" ? 1 : 2;
    return {rank, rank == 2 ? 0 : row.trials};
}

bool saysSomething(const RuleRow& row) { return row.status != "untested" || row.trials > 0 || !row.preconditions.empty() || !row.counterExample.empty(); }

// What the store has and what comes in, for as long as rules are added.
class Keeper {
public:
    explicit Keeper(const std::vector<RuleRow>& known) : known_(known.size()) {
        for (const RuleRow& row : known)
            remember(row, false);
    }

    void add(RuleRow row) {
        const auto place = byText_.find(row.text);
        if (place == byText_.end()) {
            row.name = freeName(row.name);
            return remember(row, true);
        }
        auto& [kept, isChanged] = entries_[place->second];
        if (!saysSomething(row) || knowledge(row) < knowledge(kept))
            return;
        row.name = kept.name;
        row.origin = kept.origin;
        row.createdAt = kept.createdAt;
        kept = row;
        isChanged = true;
    }

    std::size_t added() const { return entries_.size() - known_; }

    std::vector<RuleRow> changed() const {
        std::vector<RuleRow> rows;
        for (const auto& [row, isChanged] : entries_)
            if (isChanged)
                rows.push_back(row);
        return rows;
    }

private:
    void remember(const RuleRow& row, bool isChanged) {
        byText_[row.text] = entries_.size();
        names_.insert(row.name);
        entries_.emplace_back(row, isChanged);
    }

    // The name if no rule has it yet, else its family's first number that is free.
    std::string freeName(const std::string& wanted) {
        std::string name = wanted;
        const std::string family = wanted.substr(0, wanted.rfind('/')) + "/";
        while (names_.contains(name))
            name = family + std::to_string(++last_[family]);
        return name;
    }

    const std::size_t known_;
    std::vector<std::pair<RuleRow, bool>> entries_; // and whether they are new or say more
    std::map<std::string, std::size_t> byText_;
    std::set<std::string> names_;
    std::map<std::string, std::size_t> last_; // number that was tried, by family
};

Result<std::size_t> keep(const std::string& store, const std::vector<StoredRule>& rules) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readWrite));
    TS_ASSIGN(const std::vector<RuleRow> known, opened->rules());
    Keeper keeper(known);
    for (const StoredRule& rule : rules)
        keeper.add(rowOf(rule));
    TS_TRY(opened->addRules(keeper.changed()));
    return keeper.added();
}

Result<std::string> contentOf(const std::string& file) {
    TS_ASSIGN(InputFile input, InputFile::open(file));
    if (input.size() > kMostBytes)
        return inputError("it is larger than " + std::to_string(kMostBytes >> 20) + " MB, which no file of rules is").within(file);
    std::string content(input.size(), '\0');
    TS_TRY(input.read(std::as_writable_bytes(std::span(content))));
    return content;
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
        rules.push_back({"taso/" + number, std::move(parsed[i]), "taso " + number, {}, 0, {}, {}});
    }
    return rules;
}

} // namespace

Result<std::vector<KeptRule>> keptRules(const std::string& store) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<RuleRow> rows, opened->rules());
    std::vector<KeptRule> kept;
    for (const RuleRow& row : rows) {
        TS_ASSIGN(KeptRule rule, keptOf(row));
        kept.push_back(std::move(rule));
    }
    return kept;
}

Result<KeptRule> keptRule(const std::string& store, const std::string& name) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::optional<RuleRow> row, opened->rule(name));
    if (!row)
        return inputError("the store " + opened->path() + " has no rule '" + name + "'; `rules list` names those that it has");
    return keptOf(*row);
}

Result<RuleImport> importRules(const std::string& store, const std::string& file) {
    TS_ASSIGN(const std::string content, contentOf(file));
    const auto rules = parseRuleFile(content, file);
    if (!rules.ok())
        return rules.error().within(file);
    std::set<std::string> texts;
    for (const StoredRule& rule : *rules)
        texts.insert(ruleText(rule.rule));
    TS_ASSIGN(const std::size_t added, keep(store, *rules));
    return RuleImport{rules->size(), texts.size(), added};
}

Result<std::size_t> exportRules(const std::string& store, const std::string& file) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<RuleRow> rows, opened->rules());
    std::vector<StoredRule> rules;
    for (const RuleRow& row : rows) {
        TS_ASSIGN(StoredRule rule, storedOf(row));
        rules.push_back(std::move(rule));
    }
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
        rules.push_back({"generated/" + std::to_string(rules.size() + 1), std::move(rule), "generated", {}, 0, {}, {}});
    }
    return keep(store, rules);
}

} // namespace tunesmith
