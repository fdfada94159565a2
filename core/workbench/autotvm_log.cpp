// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/autotvm_log.h"

#include "core/autotvm/log_file.h"
#include "core/autotvm/store_exchange.h"
#include "core/workbench/open_store.h"
#include "core/workbench/version.h"

namespace tunesmith {

Result<LogImport> importAutotvmLog(const std::string& store, const std::string& log, const Work& work) {
    std::vector<autotvm::Record> records;
    work.report("reading " + log);
    TS_ASSIGN(const autotvm::LogDamage damage, autotvm::readLog(log, [&](autotvm::Record record) -> Status {
        records.push_back(std::move(record));
        return work.stop.stopRequested() ? Status(cancelledError()) : Status();
    }));
    if (records.empty())
        return inputError(log + " holds no AutoTVM records");
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readWrite));
    work.report("storing " + std::to_string(records.size()) + " records");
    TS_ASSIGN(const autotvm::ImportCounts counts,
              autotvm::importRecords(*opened, records, {log, versionText(), work.stop}));
    return LogImport{counts.imported, counts.skipped, counts.failed, counts.workloads, damage.lines, damage.first};
}

Result<std::int64_t> exportAutotvmLog(const std::string& store, const std::string& log) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<autotvm::Record> records, autotvm::importedRecords(*opened));
    if (records.empty())
        return inputError("the store " + opened->path() +
                          " holds no imported AutoTVM records; import a log first");
    TS_TRY(autotvm::writeLog(log, records));
    return static_cast<std::int64_t>(records.size());
}

} // namespace tunesmith
