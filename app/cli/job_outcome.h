// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/cli/command.h"
#include "core/workbench/tune_jobs.h"

namespace tunesmith::cli {

// What jobs of other kinds than tuning came to.
Json outcomeJson(const JobOutcome& outcome);
std::string figureText(const std::optional<double>& value, const std::string& unit); // "1.24 ms", "4 points", "-"
std::string outcomeText(const JobOutcome& outcome); // "4 points -> 20 points; n 6"

} // namespace tunesmith::cli
