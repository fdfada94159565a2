// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plugin/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <variant>

#include "core/base/hash.h"
#include "core/plugin/toml_file.h"

namespace tunesmith {

// What toml++ has read, without its types.
struct Settings::Value {
    using Ptr = std::shared_ptr<const Value>;
    using Table = std::vector<std::pair<std::string, Ptr>>;
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Ptr>, Table> content; // monostate: a date or a time
    std::uint32_t line = 0, column = 0;
};

namespace {

using Value = Settings::Value;

Value::Ptr valueOf(const toml::node& node);

Value::Table entriesOf(const toml::table& table) {
    Value::Table entries;
    for (const auto& [key, node] : table)
        entries.emplace_back(std::string(key.str()), valueOf(node));
    std::ranges::stable_sort(entries, {}, [](const auto& entry) { return std::pair(entry.second->line, entry.second->column); });
    return entries;
}

Value::Ptr valueOf(const toml::node& node) {
    auto value = std::make_shared<Value>();
    value->line = node.source().begin.line;
    value->column = node.source().begin.column;
    if (const auto* flag = node.as_boolean())
        value->content = flag->get();
    else if (const auto* whole = node.as_integer())
        value->content = whole->get();
    else if (const auto* number = node.as_floating_point())
        value->content = number->get();
    else if (const auto* text = node.as_string())
        value->content = text->get();
    else if (const auto* table = node.as_table())
        value->content = entriesOf(*table);
    else if (const auto* array = node.as_array()) {
        std::vector<Value::Ptr> items;
        for (const toml::node& item : *array)
            items.push_back(valueOf(item));
        value->content = std::move(items);
    }
    return value;
}

std::optional<std::string> wordOf(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value.content))
        return *text;
    if (const auto* flag = std::get_if<bool>(&value.content))
        return *flag ? "true" : "false";
    char digits[32];
    const auto written = [&](auto number) { return std::string(digits, std::to_chars(digits, digits + sizeof digits, number).ptr); };
    if (const auto* whole = std::get_if<std::int64_t>(&value.content))
        return written(*whole);
    if (const auto* number = std::get_if<double>(&value.content))
        return written(*number);
    return std::nullopt;
}

void addTo(Hasher& hasher, const Value& value) {
    hasher.add(value.content.index());
    if (const auto* items = std::get_if<std::vector<Value::Ptr>>(&value.content)) {
        hasher.add(items->size());
        for (const Value::Ptr& item : *items)
            addTo(hasher, *item);
    } else if (const auto* table = std::get_if<Value::Table>(&value.content)) {
        hasher.add(table->size());
        for (const auto& [key, entry] : *table) {
            hasher.add(std::string_view(key));
            addTo(hasher, *entry);
        }
    } else if (const auto word = wordOf(value)) {
        hasher.add(std::string_view(*word));
    }
}

std::string placeOf(const std::filesystem::path& file, std::uint32_t line) { return file.string() + ", line " + std::to_string(line) + ": "; }

} // namespace

Result<Settings> Settings::read(const std::filesystem::path& file) {
    TS_ASSIGN(const toml::table table, readTomlFile(file));
    return Settings(file, valueOf(table));
}

std::filesystem::path Settings::folder() const {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(file_, failed);
    return (failed ? file_ : whole).parent_path();
}

Value::Ptr Settings::find(std::string_view key) const {
    const auto& table = std::get<Value::Table>(value_->content);
    const auto found = std::ranges::find(table, key, [](const auto& entry) { return std::string_view(entry.first); });
    return found == table.end() ? nullptr : found->second;
}

bool Settings::has(std::string_view key) const { return find(key) != nullptr; }

Result<Value::Ptr> Settings::take(std::string_view key, bool needed) {
    asked_.emplace(key);
    Value::Ptr value = find(key);
    if (!value && needed)
        return error("'" + std::string(key) + "' is missing");
    return value;
}

Error Settings::error(const std::string& what) const { return inputError(placeOf(file_, std::max(1u, value_->line)) + what); }

Error Settings::errorAt(std::string_view key, const std::string& what) const {
    const Value::Ptr value = find(key);
    return value ? inputError(placeOf(file_, value->line) + what) : error(what);
}

Error Settings::wrong(std::string_view key, const std::string& what) const { return errorAt(key, "'" + std::string(key) + "' is to be " + what); }

Result<std::string> Settings::text(std::string_view key, std::optional<std::string> fallback) {
    TS_ASSIGN(const Value::Ptr value, take(key, !fallback));
    if (!value)
        return *fallback;
    const auto* text = std::get_if<std::string>(&value->content);
    return text ? Result(*text) : wrong(key, "a text");
}

Result<double> Settings::number(std::string_view key, double least, double most, std::optional<double> fallback) {
    TS_ASSIGN(const Value::Ptr value, take(key, !fallback));
    if (!value)
        return *fallback;
    const auto* whole = std::get_if<std::int64_t>(&value->content);
    const auto* real = std::get_if<double>(&value->content);
    const double number = whole ? static_cast<double>(*whole) : real ? *real : std::numeric_limits<double>::quiet_NaN();
    char range[80];
    std::snprintf(range, sizeof range, "a number from %g to %g", least, most);
    return number >= least && number <= most ? Result(number) : wrong(key, range);
}

Result<std::int64_t> Settings::whole(std::string_view key, std::int64_t least, std::int64_t most, std::optional<std::int64_t> fallback) {
    TS_ASSIGN(const Value::Ptr value, take(key, !fallback));
    if (!value)
        return *fallback;
    const auto* number = std::get_if<std::int64_t>(&value->content);
    if (number && *number >= least && *number <= most)
        return *number;
    return wrong(key, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}

Result<bool> Settings::flag(std::string_view key, std::optional<bool> fallback) {
    TS_ASSIGN(const Value::Ptr value, take(key, !fallback));
    if (!value)
        return *fallback;
    const auto* flag = std::get_if<bool>(&value->content);
    return flag ? Result(*flag) : wrong(key, "true or false");
}

Result<std::string> Settings::word(std::string_view key, std::optional<std::string> fallback) {
    TS_ASSIGN(const Value::Ptr value, take(key, !fallback));
    if (!value)
        return *fallback;
    const auto word = wordOf(*value);
    return word ? Result(*word) : wrong(key, "a text or a number");
}

Result<std::vector<std::string>> Settings::words(std::string_view key, std::optional<std::vector<std::string>> fallback) {
    TS_ASSIGN(const Value::Ptr value, take(key, !fallback));
    if (!value)
        return *fallback;
    const auto* items = std::get_if<std::vector<Value::Ptr>>(&value->content);
    std::vector<std::string> words;
    for (std::size_t i = 0; items && i < items->size(); ++i)
        if (auto word = wordOf(*(*items)[i]))
            words.push_back(std::move(*word));
    if (!items || items->empty() || words.size() < items->size())
        return wrong(key, "a list of texts or numbers such as [\"a\", \"b\"]");
    return words;
}

Result<Settings> Settings::table(std::string_view key) {
    TS_ASSIGN(const Value::Ptr value, take(key, true));
    if (!std::holds_alternative<Value::Table>(value->content))
        return wrong(key, "a table: write [" + std::string(key) + "] on a line of its own");
    return Settings(file_, value);
}

Result<std::vector<std::pair<std::string, Settings>>> Settings::tables() {
    std::vector<std::pair<std::string, Settings>> all;
    for (const auto& [key, value] : std::get<Value::Table>(value_->content)) {
        TS_ASSIGN(Settings one, table(key));
        all.emplace_back(key, std::move(one));
    }
    return all;
}

Status Settings::done() const {
    std::string known;
    for (const std::string& key : asked_)
        known += (known.empty() ? "" : ", ") + key;
    for (const auto& [key, value] : std::get<Value::Table>(value_->content))
        if (!asked_.contains(key))
            return errorAt(key, "'" + key + "' is no key here; there are " + known);
    return {};
}

std::uint64_t Settings::hash() const {
    Hasher hasher;
    addTo(hasher, *value_);
    return hasher.value();
}

} // namespace tunesmith
