// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/autotvm/record.h"
#include "core/base/stop_token.h"
#include "core/store/store.h"

namespace tunesmith::autotvm {

// Records of a log and the trials of a store (stored_record.h). What was imported is no best record of this
// machine: its workloads have keys of their own and its targets belong to a machine that nobody has.

struct ImportSource {
    std::string file;    // where the records come from
    std::string version; // of this program
    StopToken stop = {};
};

struct ImportCounts {
    std::int64_t imported = 0;  // records that were added
    std::int64_t skipped = 0;   // that the store had
    std::int64_t failed = 0;    // of all of them, those that report a failure
    std::int64_t workloads = 0; // that all of them are about
};

// One run per target and version of TVM, completed when this returns; a record that occurs n times in the log
// is there n times at least afterwards, so that importing twice adds nothing. When it was stopped or failed,
// what was added stays and importing again adds the rest.
Result<ImportCounts> importRecords(Store& store, const std::vector<Record>& records,
                                   const ImportSource& source);

// All imported records, in the order in which they came.
Result<std::vector<Record>> importedRecords(const Store& store);

// The fastest of those of one task, whatever their target; none where all failed or nothing was imported.
Result<std::optional<Record>> fastestImported(const Store& store, const Task& task);

} // namespace tunesmith::autotvm
