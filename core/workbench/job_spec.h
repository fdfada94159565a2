// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/tune_jobs.h"

namespace tunesmith {

struct JobRow;

// Inside core/workbench only: what a job is to do, as the store keeps it (JSON with the keys of a job file, but those that the store has columns for).
Result<std::string> jobSpec(const TuneJob& job); // an Error names what is no text
Result<TuneJob> readJobSpec(const std::string& kind, const std::string& json); // without name and priority
Result<TuneJob> readJobRow(const JobRow& row); // with them; Errors name the job

// What a job came to, likewise; what is no such thing reads as nothing.
std::string outcomeSpec(const JobOutcome& outcome);
JobOutcome readOutcomeSpec(const std::string& json);

} // namespace tunesmith
