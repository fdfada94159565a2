// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/store/rows.h"
#include "core/store/sqlite.h"

// The SQL of the hot queries, apart from their use so that a test can ask SQLite for the plan of each.
namespace tunesmith::queries {

// INDEXED BY and CROSS JOIN fix index and order: without statistics SQLite's own choice may sort a whole run
// for one page.
Result<std::string> trials(const TrialFilter& filter);
void bindTrials(sqlite::Statement& statement, const TrialFilter& filter);
TrialRow trialOf(sqlite::Statement& row, int column = 0); // reads the columns of trialColumns
inline constexpr int trialColumnCount = 18;
extern const char* const trialColumns;

// The trial that is, or should be, the record of each workload and target, out of the ok trials t and their runs r that `source` gives:
// the fastest since the last final. Columns id, workload_id, target_id, p5_ms.
std::string bestTrials(const std::string& source);

extern const char* const trialById;
extern const char* const curve;       // run, workload key
extern const char* const bestRecord;  // workload key, target key, machine key or ''
extern const char* const bestRecords; // target key, machine key or ''

} // namespace tunesmith::queries
