// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/hello/score.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <vector>

namespace tunesmith {
namespace {

constexpr std::size_t kLongestPattern = 1000, kLongestLine = 1000, kMostUnfolded = 2000;

// At most how many characters a pattern has when its repetitions are written out, as the library does: (a{99}){99} has 9801. Every number that
// follows a brace or a comma counts, whatever it stands in.
std::size_t unfolded(std::string_view pattern) {
    std::size_t size = pattern.size();
    for (std::size_t i = 0; i < pattern.size() && size <= kMostUnfolded; ++i) {
        if (pattern[i] != '{' && pattern[i] != ',')
            continue;
        std::size_t count = 0;
        std::from_chars(pattern.data() + i + 1, pattern.data() + pattern.size(), count);
        size *= std::clamp<std::size_t>(count, 1, kMostUnfolded);
    }
    return size;
}

std::string_view withoutEnd(std::string_view text) {
    const auto last = text.find_last_not_of(" \t\r\n");
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::optional<double> numberIn(std::string_view text) {
    text = withoutEnd(text);
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n+"), text.size()));
    double number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::string shown(std::string_view text) {
    text = withoutEnd(text);
    return "'" + std::string(text.substr(0, 60)) + (text.size() > 60 ? "...'" : "'");
}

} // namespace

Result<LinePattern> LinePattern::parse(const std::string& text) {
    LinePattern pattern;
    pattern.text_ = text;
    if (text.empty() || text.size() > kLongestPattern)
        return inputError("a pattern has 1 to " + std::to_string(kLongestPattern) + " characters");
    if (unfolded(text) > kMostUnfolded)
        return inputError("a pattern has at most " + std::to_string(kMostUnfolded) + " characters when its repetitions are written out");
    try {
        pattern.regex_ = std::regex(text, std::regex::ECMAScript | std::regex_constants::__polynomial); // a library of GNU's: no recursion over the text
    } catch (const std::regex_error&) {
        return inputError("'" + text + "' is no regular expression (without references to groups)");
    }
    return pattern;
}

std::optional<std::string> LinePattern::find(const std::string& output) const {
    std::optional<std::string> found;
    for (std::size_t begin = 0; begin < output.size();) {
        const std::size_t end = std::min(output.find('\n', begin), output.size());
        const std::string line = output.substr(begin, std::min(end - begin, kLongestLine));
        if (std::smatch match; std::regex_search(line, match, regex_))
            found = match[match.size() > 1 ? 1 : 0].str();
        begin = end + 1;
    }
    return found;
}

Result<double> ScoreSpec::valueIn(const std::string& text) const {
    const std::optional<std::string> found = pattern ? pattern->find(text) : text;
    if (!found)
        return inputError("the score's pattern '" + pattern->text() + "' is in no line of what it gave: " + shown(text));
    const std::optional<double> value = numberIn(*found);
    if (!value || !std::isfinite(*value * scale))
        return inputError("the score " + shown(*found) + " is no finite number");
    return *value * scale;
}

Result<ScoreSpec> readScore(Settings settings) {
    ScoreSpec score;
    TS_ASSIGN(const std::string from, settings.text("from"));
    if (from != "time" && from != "stdout" && from != "file")
        return settings.errorAt("from", "a score is not from '" + from + "'; use time, stdout or file");
    score.from = from == "time" ? ScoreSpec::From::time : from == "stdout" ? ScoreSpec::From::output : ScoreSpec::From::file;
    if (score.from == ScoreSpec::From::time) {
        score.objective = {"time", "ms", false};
        TS_TRY(settings.done());
        return score;
    }
    TS_ASSIGN(score.objective.unit, settings.text("unit", ""));
    TS_ASSIGN(score.objective.higherIsBetter, settings.flag("higher_is_better", false));
    static const std::map<std::string, double> times{{"s", 1e3}, {"ms", 1}, {"us", 1e-3}, {"ns", 1e-6}};
    if (const auto time = times.find(score.objective.unit); time != times.end() && !score.objective.higherIsBetter) {
        score.objective.unit = "ms";
        score.scale = time->second;
    }
    TS_ASSIGN(score.objective.name, settings.text("name", score.isTime() ? "time" : "score"));
    TS_ASSIGN(const std::string pattern, settings.text("pattern", ""));
    if (settings.has("pattern")) {
        auto parsed = LinePattern::parse(pattern);
        if (!parsed.ok())
            return settings.errorAt("pattern", parsed.error().message);
        score.pattern = std::move(*parsed);
    }
    if (score.from == ScoreSpec::From::file) {
        TS_ASSIGN(score.file, settings.text("file"));
        if (!score.file.starts_with("{scratch}/") || score.file.find("..") != std::string::npos)
            return settings.errorAt("file", "the file of the score is to be in the folder of each run: write {scratch}/NAME, there and in the command");
    }
    TS_TRY(settings.done());
    return score;
}

Status CheckSpec::accepts(const std::string& printed) const {
    if (output && withoutEnd(printed) != withoutEnd(*output))
        return inputError("it printed " + shown(printed) + " instead of " + shown(*output));
    if (!pattern)
        return {};
    const auto found = pattern->find(printed);
    if (!found)
        return inputError("the pattern '" + pattern->text() + "' of a right answer is in no line of what it printed: " + shown(printed));
    if (!value)
        return {};
    const auto number = numberIn(*found);
    if (!number || !(std::abs(*number - *value) <= tolerance * std::abs(*value)))
        return inputError("it printed " + shown(*found) + ", too far from " + std::to_string(*value));
    return {};
}

Result<CheckSpec> readCheck(Settings settings) {
    CheckSpec check;
    if (settings.has("output")) {
        TS_ASSIGN(check.output, settings.text("output"));
    }
    if (settings.has("pattern")) {
        TS_ASSIGN(const std::string text, settings.text("pattern"));
        auto parsed = LinePattern::parse(text);
        if (!parsed.ok())
            return settings.errorAt("pattern", parsed.error().message);
        check.pattern = std::move(*parsed);
        if (settings.has("value")) {
            TS_ASSIGN(check.value, settings.number("value", -1e300, 1e300));
            TS_ASSIGN(check.tolerance, settings.number("tolerance", 0, 1, 1e-6));
        }
    }
    if (!check.output && !check.pattern)
        return settings.error("a check needs output = \"...\" or pattern = \"...\"");
    TS_TRY(settings.done());
    return check;
}

} // namespace tunesmith
