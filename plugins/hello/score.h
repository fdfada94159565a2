// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <regex>
#include <string>

#include "core/plugin/settings.h"
#include "core/search/problem.h"

namespace tunesmith {

// A regular expression that is looked for line by line, in time that grows with the text only; of lines that match the last one counts.
class LinePattern {
public:
    static Result<LinePattern> parse(const std::string& text);
    std::optional<std::string> find(const std::string& output) const; // its first group, or else all that matched
    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::regex regex_;
};

// [score]: where it is and what it means.
struct ScoreSpec {
    enum class From { time, output, file };
    From from = From::time;
    std::optional<LinePattern> pattern; // without one the text is nothing but the number
    std::string file;                   // of From::file, with {scratch}
    ObjectiveInfo objective;
    double scale = 1; // from the program's unit to the objective's: times are stored in ms
    bool isTime() const { return objective.unit == "ms" && !objective.higherIsBetter; }

    Result<double> valueIn(const std::string& text) const; // finite
};
Result<ScoreSpec> readScore(Settings settings);

// [check]: what a right answer prints.
struct CheckSpec {
    std::optional<std::string> output; // all of it, but for spaces and line breaks at the end
    std::optional<LinePattern> pattern;
    std::optional<double> value; // that the pattern finds ...
    double tolerance = 0;        // ... give or take this share of it

    Status accepts(const std::string& printed) const; // or what is wrong with the answer
};
Result<CheckSpec> readCheck(Settings settings);

} // namespace tunesmith
