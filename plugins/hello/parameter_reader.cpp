// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/hello/parameter_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace tunesmith {
namespace {

using Kind = Parameter::Kind;
constexpr std::int64_t kMostValues = 4096;
constexpr double kMost = 1e15; // up to which whole numbers are exact, with room to spare
constexpr std::size_t kMostItems = 64;

std::string written(double number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 6).ptr};
}

std::string trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
    return first == std::string_view::npos ? std::string() : std::string(text.substr(first, last - first + 1));
}

// "-funroll={}" with a value in place of {}.
std::string filledIn(std::string pattern, const std::string& value) {
    if (const auto place = pattern.find("{}"); place != std::string::npos)
        pattern.replace(place, 2, value);
    return pattern;
}

class Reader {
public:
    Reader(std::string name, Settings& settings, const std::vector<Parameter>& earlier) : settings_(settings), earlier_(earlier) { made_.name = std::move(name); }

    Status read() {
        if (made_.name.empty() || made_.name.find_first_of(" {}=<>!|&") != std::string::npos || made_.name == "flags" || made_.name == "output" ||
            made_.name == "folder" || made_.name == "scratch")
            return settings_.error("'" + made_.name + "' cannot be the name of a parameter; take letters and digits, and not flags, output, folder or scratch");
        TS_ASSIGN(const std::string type, settings_.text("type"));
        TS_TRY(readValues(type));
        TS_TRY(readConditions());
        return settings_.done();
    }
    Parameter made_;
    std::vector<std::string> texts_;

private:
    Status readValues(const std::string& type) {
        if (type == "int" || type == "float")
            return readNumber(type == "int");
        if (type == "enum")
            return readEnum();
        if (type == "flag")
            return readFlag();
        if (type == "permutation")
            return readOrder();
        return settings_.errorAt("type", "there is no type '" + type + "'; use int, float, enum, flag or permutation");
    }

    Status readNumber(bool whole) {
        made_.kind = Kind::number;
        TS_ASSIGN(const double low, settings_.number("low", -kMost, kMost));
        TS_ASSIGN(const double high, settings_.number("high", low, kMost));
        TS_ASSIGN(const bool log, settings_.flag("log", false));
        TS_ASSIGN(const double standard, settings_.number("default", low, high, low));
        if (whole && (low != std::floor(low) || high != std::floor(high) || standard != std::floor(standard)))
            return settings_.error("the bounds and the default of an int are to be whole numbers");
        if (log && !(low > 0))
            return settings_.errorAt("low", "a logarithmic scale begins above 0");
        std::set<double> values;
        if (whole && !log) {
            TS_ASSIGN(const double step, settings_.number("step", 1, kMost, 1));
            if (step != std::floor(step))
                return settings_.errorAt("step", "the step of an int is to be a whole number");
            if ((high - low) / step >= static_cast<double>(kMostValues))
                return settings_.error("'" + made_.name + "' has more than " + std::to_string(kMostValues) + " values; give a larger step, or log = true");
            for (double value = low; value <= high; value += step)
                values.insert(value);
        } else {
            TS_ASSIGN(const std::int64_t count, settings_.whole("count", 2, kMostValues, 16));
            for (std::int64_t i = 0; i < count; ++i) {
                const double share = static_cast<double>(i) / static_cast<double>(count - 1);
                const double value = i + 1 == count ? high : log ? low * std::pow(high / low, share) : low + share * (high - low);
                values.insert(whole ? std::round(value) : value);
            }
        }
        values.insert(standard);
        return addNumbers(values, standard, whole);
    }

    Status addNumbers(const std::set<double>& values, double standard, bool whole) {
        TS_ASSIGN(const std::string as, settings_.text("as", "{}"));
        for (const double value : values) {
            const std::string text = whole ? std::to_string(static_cast<std::int64_t>(value)) : written(value);
            if (!made_.values.empty() && made_.values.back() == text && value != standard)
                continue; // the same to six digits
            if (value == standard)
                made_.standard = made_.values.size();
            made_.values.push_back(text);
            made_.numbers.push_back(value);
            texts_.push_back(filledIn(as, text));
        }
        return {};
    }

    Status readEnum() {
        TS_ASSIGN(made_.values, settings_.words("values"));
        TS_TRY(checkDistinct("values", kMostValues));
        TS_ASSIGN(const std::string standard, settings_.word("default", made_.values.front()));
        const auto found = std::ranges::find(made_.values, standard);
        if (found == made_.values.end())
            return settings_.errorAt("default", "the default '" + standard + "' is none of the values");
        made_.standard = static_cast<std::size_t>(found - made_.values.begin());
        return addTexts();
    }

    Status readFlag() {
        made_.values = {"off", "on"};
        TS_ASSIGN(const bool standard, settings_.flag("default", false));
        made_.standard = standard;
        TS_ASSIGN(const std::string on, settings_.text("on"));
        TS_ASSIGN(const std::string off, settings_.text("off", ""));
        texts_ = {off, on};
        return {};
    }

    Status readOrder() {
        made_.kind = Kind::order;
        TS_ASSIGN(made_.values, settings_.words("items"));
        TS_TRY(checkDistinct("items", kMostItems));
        return addTexts();
    }

    Status addTexts() {
        TS_ASSIGN(const std::string as, settings_.text("as", "{}"));
        for (const std::string& value : made_.values)
            texts_.push_back(filledIn(as, value));
        return {};
    }

    Status checkDistinct(const char* key, std::size_t most) const {
        if (made_.values.size() > most)
            return settings_.errorAt(key, "'" + made_.name + "' has more than " + std::to_string(most) + " " + key);
        std::set<std::string_view> seen;
        for (const std::string& value : made_.values)
            if (!seen.insert(value).second)
                return settings_.errorAt(key, "'" + value + "' is listed twice");
        return {};
    }

    // when = "other == a|b", or a list of such, which must all hold.
    Status readConditions() {
        if (!settings_.has("when"))
            return {};
        std::vector<std::string> conditions;
        if (auto one = settings_.text("when"); one.ok()) {
            conditions.push_back(std::move(*one));
        } else {
            TS_ASSIGN(conditions, settings_.words("when"));
        }
        for (const std::string& text : conditions)
            TS_TRY(readCondition(text));
        return {};
    }

    Status readCondition(const std::string& text) {
        const auto wrong = [&](const std::string& why) { return settings_.errorAt("when", "the condition '" + text + "' " + why); };
        const auto first = text.find_first_of("=!<>");
        const auto last = first == std::string::npos ? first : text.find_first_not_of("=!<>", first);
        if (last == std::string::npos)
            return wrong("is to be written as \"other == value\", with ==, !=, <, <=, > or >=");
        const std::string name = trimmed(std::string_view(text).substr(0, first)), sign = text.substr(first, last - first);
        const auto other = std::ranges::find(earlier_, name, &Parameter::name);
        if (other == earlier_.end())
            return wrong("is about '" + name + "', which is no parameter that stands before this one");
        if (other->kind == Kind::order)
            return wrong("is about a permutation; only numbers, enums and flags can be conditions");
        Parameter::Condition condition{static_cast<std::size_t>(other - earlier_.begin()), std::vector<bool>(other->values.size())};
        const std::string value = trimmed(std::string_view(text).substr(last));
        TS_TRY(sign == "==" || sign == "!=" ? oneOf(*other, value, sign == "!=", condition, wrong) : compare(*other, sign, value, condition, wrong));
        made_.conditions.push_back(std::move(condition));
        return {};
    }

    template <class Wrong> static Status oneOf(const Parameter& other, std::string_view values, bool negated, Parameter::Condition& condition, const Wrong& wrong) {
        condition.holds.assign(other.values.size(), negated);
        for (std::size_t end = 0; end != std::string_view::npos;) {
            end = values.find('|');
            const std::string value = trimmed(values.substr(0, end));
            const auto found = std::ranges::find(other.values, value);
            if (found == other.values.end())
                return wrong("names '" + value + "', which is no value of '" + other.name + "'");
            condition.holds[static_cast<std::size_t>(found - other.values.begin())] = !negated;
            values.remove_prefix(end == std::string_view::npos ? values.size() : end + 1);
        }
        return {};
    }

    template <class Wrong>
    static Status compare(const Parameter& other, const std::string& sign, const std::string& value, Parameter::Condition& condition, const Wrong& wrong) {
        double limit = 0;
        const auto read = std::from_chars(value.data(), value.data() + value.size(), limit);
        if (other.kind != Kind::number || read.ec != std::errc() || read.ptr != value.data() + value.size() || !std::isfinite(limit))
            return wrong("compares what are no numbers");
        if (sign != "<" && sign != "<=" && sign != ">" && sign != ">=")
            return wrong("has no sign that is known; use ==, !=, <, <=, > or >=");
        for (std::size_t i = 0; i < other.numbers.size(); ++i)
            condition.holds[i] = (sign[0] == '<' ? other.numbers[i] < limit : other.numbers[i] > limit) || (sign.size() == 2 && other.numbers[i] == limit);
        return {};
    }

    Settings& settings_;
    const std::vector<Parameter>& earlier_;
};

} // namespace

Result<ProgramParameters> readParameters(Settings& settings) {
    ProgramParameters all;
    TS_ASSIGN(Settings table, settings.table("parameters"));
    TS_ASSIGN(auto tables, table.tables());
    if (tables.empty())
        return table.error("there are no parameters: write [parameters.NAME] and, below it, type = \"int\" for each");
    for (auto& [name, own] : tables) {
        Reader reader(name, own, all.parameters);
        TS_TRY(reader.read());
        all.parameters.push_back(std::move(reader.made_));
        all.texts.push_back(std::move(reader.texts_));
    }
    return all;
}

} // namespace tunesmith
