// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/stored_rule.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/substitution/rule_text.h"

namespace tunesmith::substitution {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string escaped(std::string_view value) {
    std::string text;
    for (const char c : value) {
        if (c == ';' || c == '\\')
            text += '\\';
        text += c == '\n' ? "\\n" : std::string(1, c);
    }
    return text;
}

std::string withoutBlanks(std::string_view text) {
    std::string rest(text);
    std::erase_if(rest, [](char c) { return kBlanks.find(c) != std::string_view::npos; });
    return rest;
}

Error problem(const std::string& what, std::size_t at) { return inputError("column " + std::to_string(at + 1) + ": " + what); }

// What is known of a rule, one `key: value` after the other.
class FieldReader {
public:
    FieldReader(std::string_view line, std::size_t place, StoredRule& rule) : line_(line), place_(place), rule_(rule) {}

    Status read() {
        while (place_ < line_.size())
            TS_TRY(readField());
        return {};
    }

private:
    Status readField() {
        const std::size_t begin = place_, colon = line_.find(':', place_);
        if (colon == std::string_view::npos)
            return problem("expected 'key: value' after the semicolon", begin);
        const std::string_view key = trimmed(line_.substr(begin, colon - begin));
        place_ = colon + 1;
        TS_ASSIGN(const std::string value, readValue());
        if (value.empty())
            return problem("'" + std::string(key) + "' has no value", begin);
        if (key != "if" && key != "proved if" && !seen_.insert(std::string(key)).second)
            return problem("'" + std::string(key) + "' is there twice", begin);
        return assign(key, value, begin);
    }

    // Up to the next semicolon that stands for itself; escapes end up as what they stand for.
    Result<std::string> readValue() {
        const std::size_t begin = std::min(line_.find_first_not_of(kBlanks, place_), line_.size());
        std::string value;
        std::size_t size = 0; // without blanks at the end
        for (place_ = begin; place_ < line_.size() && line_[place_] != ';'; ++place_) {
            char c = line_[place_];
            const bool isEscape = c == '\\';
            if (isEscape) {
                c = ++place_ < line_.size() ? line_[place_] : '\0';
                if (c != ';' && c != '\\' && c != 'n')
                    return problem("expected ';', '\\' or 'n' after a backslash", place_);
                c = c == 'n' ? '\n' : c;
            }
            value += c;
            if (isEscape || kBlanks.find(c) == std::string_view::npos)
                size = value.size();
        }
        place_ += place_ < line_.size();
        value.resize(size);
        return value;
    }

    Status assign(std::string_view key, const std::string& value, std::size_t at) {
        if (key == "name")
            rule_.name = value;
        else if (key == "origin")
            rule_.origin = value;
        else if (key == "if")
            rule_.preconditions.push_back(value);
        else if (key == "proved if")
            rule_.proofConditions.push_back(value);
        else if (key == "not proved")
            rule_.whyNotProved = value;
        else if (key == "refuted by" || key == "otherwise")
            return readCounterExample(value, at);
        else if (key == "status")
            return readStatus(value, at);
        else
            return problem("expected name, origin, status, if, 'proved if', 'not proved', otherwise or 'refuted by', not '" + std::string(key) + "'", at);
        return {};
    }

    Status readCounterExample(const std::string& value, std::size_t at) {
        if (!rule_.counterExample.empty())
            return problem("there are two counter-examples", at);
        rule_.counterExample = value;
        return {};
    }

    // "tested 1800", "proved".
    Status readStatus(std::string_view value, std::size_t at) {
        const std::size_t blank = std::min(value.find(' '), value.size());
        const auto status = ruleStatusOf(value.substr(0, blank));
        if (!status.ok())
            return problem(status.error().message, at);
        rule_.status = *status;
        const std::string_view count = trimmed(value.substr(blank));
        const auto [end, code] = std::from_chars(count.data(), count.data() + count.size(), rule_.trials);
        if (!count.empty() && (code != std::errc() || end != count.data() + count.size() || rule_.trials < 0))
            return problem("expected how many trials there were, not '" + std::string(count) + "'", at);
        return {};
    }

    const std::string_view line_;
    std::size_t place_;
    StoredRule& rule_;
    std::set<std::string> seen_;
};

} // namespace

Result<RuleStatus> ruleStatusOf(std::string_view name) {
    const auto found = std::ranges::find(kRuleStatusNames, name);
    if (found == kRuleStatusNames.end())
        return inputError("no status is called '" + std::string(name) + "'; there are untested, tested, proved and refuted");
    return static_cast<RuleStatus>(found - kRuleStatusNames.begin());
}

std::string storedRuleText(const StoredRule& rule) {
    std::string text = ruleText(rule.rule);
    const auto add = [&](std::string_view key, std::string_view value) {
        if (!value.empty())
            text += "; " + std::string(key) + ": " + escaped(value);
    };
    add("name", rule.name);
    add("origin", rule.origin);
    if (rule.status != RuleStatus::untested || rule.trials > 0)
        add("status", std::string(kRuleStatusNames[static_cast<std::size_t>(rule.status)]) + (rule.trials > 0 ? " " + std::to_string(rule.trials) : ""));
    for (const std::string& precondition : rule.preconditions)
        add("if", precondition);
    for (const std::string& condition : rule.proofConditions)
        add("proved if", condition);
    add("not proved", rule.whyNotProved);
    add(rule.status == RuleStatus::refuted ? "refuted by" : "otherwise", rule.counterExample);
    return text;
}

Result<StoredRule> parseStoredRule(std::string_view line) {
    StoredRule stored;
    std::size_t end = 0;
    TS_ASSIGN(stored.rule, parseRule(line, &end));
    TS_TRY(FieldReader(line, end, stored).read());
    if ((stored.status == RuleStatus::proved && !stored.whyNotProved.empty()) || (stored.status != RuleStatus::proved && !stored.proofConditions.empty()))
        return inputError("'not proved' and the status 'proved' exclude each other, and 'proved if' needs that status");
    const std::string canonical = ruleText(stored.rule);
    if (!(stored.preconditions.empty() && stored.proofConditions.empty()) && withoutBlanks(line.substr(0, end)) != withoutBlanks(canonical + (end < line.size() ? ";" : "")))
        return inputError("preconditions name variables as they are in '" + canonical + "'; write the rule so");
    return stored;
}

std::string storedRulesText(std::span<const StoredRule> rules) {
    std::string text;
    for (const StoredRule& rule : rules)
        text += storedRuleText(rule) + "\n";
    return text;
}

Result<std::vector<StoredRule>> parseStoredRules(std::string_view text) {
    std::vector<StoredRule> rules;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (const std::string_view content = trimmed(line); content.empty() || content.starts_with('#'))
            continue;
        Result<StoredRule> rule = parseStoredRule(line);
        if (!rule.ok())
            return rule.error().within("line " + std::to_string(number));
        rules.push_back(std::move(*rule));
    }
    return rules;
}

} // namespace tunesmith::substitution
