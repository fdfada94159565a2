// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/workbench/work.h"

namespace tunesmith {

// AutoTVM's logs and the trial database. An empty path of the store means the default one.

struct LogImport {
    std::int64_t imported = 0;      // records that were added
    std::int64_t skipped = 0;       // that the store had
    std::int64_t failedRecords = 0; // of all in the log, those that report a failure
    std::int64_t workloads = 0;     // that the log is about
    std::int64_t damagedLines = 0;  // that are no records, and were passed over
    std::string firstDamaged;       // which is the first, and why
};

// Each record becomes a trial; lines that are none are counted. Imported times
// are another machine's: they are kept and exported, but kernels are never chosen by them.
Result<LogImport> importAutotvmLog(const std::string& store, const std::string& log, const Work& work);

// Writes all imported records as a log; gives their number. Refuses a store without any.
Result<std::int64_t> exportAutotvmLog(const std::string& store, const std::string& log);

} // namespace tunesmith
