// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/job_outcome.h"

#include "app/cli/text.h"
#include "core/base/printable.h"

namespace tunesmith::cli {

Json outcomeJson(const JobOutcome& outcome) {
    return {{"unit", outcome.unit},
            {"before", optionalNumber(outcome.before)},
            {"after", optionalNumber(outcome.after)},
            {"measured_before_ms", optionalNumber(outcome.measuredBeforeMs)},
            {"measured_after_ms", optionalNumber(outcome.measuredAfterMs)},
            {"file", outcome.file.empty() ? Json() : Json(outcome.file)},
            {"remark", outcome.remark.empty() ? Json() : Json(outcome.remark)}};
}

std::string figureText(const std::optional<double>& value, const std::string& unit) {
    if (!value)
        return "-";
    if (unit == "ms")
        return timeText(*value);
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", *value);
    return text + (unit.empty() ? std::string() : " " + printable(unit));
}

std::string outcomeText(const JobOutcome& outcome) {
    std::string text = figureText(outcome.before, outcome.unit) + " -> " + figureText(outcome.after, outcome.unit);
    if (outcome.measuredAfterMs)
        text += "; measured " + figureText(outcome.measuredBeforeMs, "ms") + " -> " + figureText(outcome.measuredAfterMs, "ms");
    if (!outcome.remark.empty())
        text += "; " + outcome.remark;
    return outcome.file.empty() ? text : text + "; wrote " + outcome.file;
}

} // namespace tunesmith::cli
