// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/store_exchange.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/autotvm/stored_record.h"
#include "core/autotvm/template_spaces.h"
#include "core/base/log.h"

namespace tunesmith::autotvm {
namespace {

// The rows that imported trials refer to, each looked up once.
class ImportedRows {
public:
    explicit ImportedRows(const Store& store) : store_(store) {}

    Status load() {
        TS_ASSIGN(const std::vector<RunRow> runs, store_.runs());
        for (const RunRow& run : runs)
            if (run.kind == kImportedKind)
                runs_.emplace(run.id.value(), run);
        return {};
    }
    bool none() const { return runs_.empty(); }

    // Calls take(record) for the trials of a workload, or of all, that were imported; oldest first. What holds no record any more is left out with a warning.
    Status forEach(const std::string& workload, const std::function<void(Record)>& take) {
        TrialFilter filter;
        filter.workload = workload;
        bool told = false;
        for (;;) {
            TS_ASSIGN(const std::vector<TrialRow> page, store_.trials(filter));
            for (const TrialRow& trial : page)
                if (const auto run = runs_.find(trial.run.value()); run != runs_.end()) {
                    TS_ASSIGN(const WorkloadRow* row, workloadOf(trial.workload));
                    if (auto record = storedRecord(run->second, *row, trial); record.ok())
                        take(std::move(*record));
                    else if (!std::exchange(told, true))
                        logMessage(LogLevel::warning, record.error().message + "; it is left out, and so is what else is damaged");
                }
            if (page.size() < static_cast<std::size_t>(filter.limit))
                return {};
            filter.after = page.back().id;
        }
    }

private:
    Result<const WorkloadRow*> workloadOf(const std::string& key) {
        if (const auto known = workloads_.find(key); known != workloads_.end())
            return &known->second;
        TS_ASSIGN(const std::optional<WorkloadRow> row, store_.workload(key));
        if (!row)
            return internalError("the store has trials of a workload that it does not have");
        return &workloads_.emplace(key, *row).first->second;
    }

    const Store& store_;
    std::map<std::int64_t, RunRow> runs_;
    std::map<std::string, WorkloadRow> workloads_;
};

// How often each record is in the store, for the workloads of a log.
Result<std::unordered_map<std::string, int>> storedLines(const Store& store,
                                                         const std::set<std::string>& keys) {
    std::unordered_map<std::string, int> lines;
    ImportedRows rows(store);
    TS_TRY(rows.load());
    if (rows.none())
        return lines;
    for (const std::string& key : keys)
        TS_TRY(rows.forEach(key, [&lines](const Record& record) { ++lines[recordLine(record)]; }));
    return lines;
}

// Spaces by task and vintage; none for templates that are not known.
class Spaces {
public:
    const ConfigSpace* of(const Record& record) {
        const Vintage vintage = vintageOf(record);
        const Key key{workloadKey(record.task), vintage.tails, vintage.innerTile, vintage.swappedKernelNames};
        auto found = spaces_.find(key);
        if (found == spaces_.end()) {
            auto made = spaceOf(record.task, vintage);
            found =
                spaces_.emplace(key, made.ok() ? std::optional(std::move(made).value()) : std::nullopt).first;
        }
        return found->second ? &*found->second : nullptr;
    }

private:
    using Key = std::tuple<std::string, bool, bool, bool>;
    std::map<Key, std::optional<ConfigSpace>> spaces_;
};

// One run for each target and version, all open until the last trial is stored.
class Importer {
public:
    Importer(Store& store, const ImportSource& source) : store_(store), source_(source) {}

    Status run(const std::vector<const Record*>& records) {
        const Status stored = store(records);
        const RunState state = stored.ok()                    ? RunState::completed
                               : stored.error().isCancelled() ? RunState::stopped
                                                              : RunState::failed;
        for (const auto& [key, group] : groups_)
            if (group.run.valid())
                if (const Status ended = store_.endRun(group.run, {state, "imported", {}, {}});
                    stored.ok() && !ended.ok())
                    return ended;
        return stored;
    }

private:
    struct Group {
        RunId run;
        std::map<std::string, std::int64_t> trials; // by workload, stored so far
    };
    using GroupKey = std::pair<std::string, std::optional<std::string>>; // target, version of TVM

    Status store(const std::vector<const Record*>& records) {
        constexpr std::size_t kAtOnce = 1000; // trials in a transaction: other writers wait for it
        TS_TRY(begin(records));
        std::vector<TrialRow> trials;
        for (const Record* record : records) {
            Group& group = groups_[{record->target, record->tvmVersion}];
            const ConfigSpace* space = spaces_.of(*record);
            TrialRow trial = trialRow(*record, space ? space->configOf(*record) : std::nullopt);
            trial.run = group.run;
            trial.index = group.trials[trial.workload]++;
            trials.push_back(std::move(trial));
            if (trials.size() < kAtOnce && record != records.back())
                continue;
            if (source_.stop.stopRequested())
                return cancelledError();
            TS_TRY(store_.addTrials(trials));
            trials.clear();
        }
        return {};
    }

    Status begin(const std::vector<const Record*>& records) {
        std::map<GroupKey, std::map<std::string, RunWorkloadRow>> plans;
        for (const Record* record : records) {
            RunWorkloadRow& row = plans[{record->target, record->tvmVersion}][workloadKey(record->task)];
            if (row.workload.empty()) {
                TS_ASSIGN(row, planOf(*record));
            }
            ++row.budget;
        }
        TS_ASSIGN(const MachineId machine, store_.addMachine(importedMachine()));
        for (const auto& [key, plan] : plans) {
            TS_ASSIGN(const TargetId target, store_.addTarget({{}, key.first, machine}));
            RunRow run = importedRun(target, key.second, source_.file);
            run.version = source_.version;
            std::vector<RunWorkloadRow> rows;
            for (const auto& [workload, row] : plan)
                rows.push_back(row);
            TS_ASSIGN(groups_[key].run, store_.beginRun(run, rows));
        }
        return {};
    }

    Result<RunWorkloadRow> planOf(const Record& record) {
        const ConfigSpace* space = spaces_.of(record);
        const WorkloadRow workload = workloadRow(record.task, space ? space->flops : 0);
        TS_TRY(store_.addWorkload(workload));
        return RunWorkloadRow{workload.key, 1, "AutoTVM " + record.task.name,
                              space ? static_cast<double>(space->knobs.indexCount()) : 0, 0};
    }

    Store& store_;
    const ImportSource& source_;
    Spaces spaces_;
    std::map<GroupKey, Group> groups_;
};

} // namespace

Result<ImportCounts> importRecords(Store& store, const std::vector<Record>& records,
                                   const ImportSource& source) {
    std::set<std::string> keys;
    for (const Record& record : records)
        keys.insert(workloadKey(record.task));
    TS_ASSIGN(auto stored, storedLines(store, keys));
    ImportCounts counts;
    std::vector<const Record*> fresh;
    for (const Record& record : records) {
        counts.failed += record.ok() ? 0 : 1;
        if (const auto found = stored.find(recordLine(record)); found != stored.end() && found->second > 0)
            --found->second;
        else
            fresh.push_back(&record);
    }
    counts.workloads = static_cast<std::int64_t>(keys.size());
    counts.imported = static_cast<std::int64_t>(fresh.size());
    counts.skipped = static_cast<std::int64_t>(records.size()) - counts.imported;
    if (!fresh.empty())
        TS_TRY(Importer(store, source).run(fresh));
    return counts;
}

Result<std::vector<Record>> importedRecords(const Store& store) {
    std::vector<Record> records;
    ImportedRows rows(store);
    TS_TRY(rows.load());
    if (!rows.none())
        TS_TRY(rows.forEach({}, [&records](Record record) { records.push_back(std::move(record)); }));
    return records;
}

Result<std::optional<Record>> fastestImported(const Store& store, const Task& task) {
    std::vector<Record> records;
    ImportedRows rows(store);
    TS_TRY(rows.load());
    if (!rows.none())
        TS_TRY(rows.forEach(workloadKey(task), [&records](Record record) { records.push_back(std::move(record)); }));
    const auto place = fastest(records);
    return place ? std::optional(std::move(records[*place])) : std::optional<Record>();
}

} // namespace tunesmith::autotvm
