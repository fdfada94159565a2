// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/workbench/tune_jobs.h"

namespace tunesmith {

// The stages of jobs for other programs: as a trace in Chrome's JSON format, which Perfetto opens (a track for each core, microseconds), and as a table.
std::string chromeTrace(const TunedJobs& tuned);
std::string slicesAsCsv(const TunedJobs& tuned); // job,stage,cores,called_s,begin_s,end_s,expected_s
Status exportSlices(const TunedJobs& tuned, const std::filesystem::path& file); // a table where the name ends in .csv, else a trace

} // namespace tunesmith
