// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/history.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "core/workbench/layout_records.h"
#include "core/workbench/open_store.h"
#include "core/workbench/rule_rows.h"
#include "core/workbench/run_options.h"

namespace tunesmith {
namespace {

bool resumable(const RunRow& row, const StoredRunOptions& options, bool followed) {
    return row.state == RunState::stopped || row.state == RunState::failed || row.interrupted ||
           (row.state == RunState::completed && options.leads && !followed);
}

} // namespace

Result<std::string> storePath(const std::string& asked) {
    return asked.empty() ? defaultStorePath() : Result<std::string>(asked);
}

Result<std::optional<std::string>> existingStore(const std::string& asked) {
    const auto path = storePath(asked);
    std::error_code error;
    if (!path.ok() || !std::filesystem::exists(*path, error))
        return std::optional<std::string>();
    return std::optional(*path);
}

Result<std::shared_ptr<Store>> openStore(const std::string& asked, StoreMode mode) {
    TS_ASSIGN(const std::string path, storePath(asked));
    return Store::open(path, mode);
}

Result<StoreHealth> checkStore(const std::string& store) {
    TS_ASSIGN(const std::string path, storePath(store));
    TS_ASSIGN(const auto opened, Store::open(path, StoreMode::readOnly, {.toCheck = true}));
    TS_ASSIGN(StoreCheck check, opened->check());
    if (const auto rules = opened->rules(); rules.ok()) // else the check has said why
        for (const RuleRow& row : *rules)
            if (const auto rule = storedOf(row); !rule.ok())
                check.problems.push_back(rule.error().message);
    return StoreHealth{check.problems.empty(), std::move(check.problems), check.runs, check.trials};
}

Result<StoreContents> storeContents(const std::string& store) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(StoreStats s, opened->stats());
    return StoreContents{opened->path(),
                         s.version,
                         s.fileBytes,
                         s.logBytes,
                         s.freeBytes,
                         s.machines,
                         s.targets,
                         s.models,
                         s.workloads,
                         s.runs,
                         s.trials,
                         s.records,
                         s.rules,
                         std::move(s.trialsByStatus)};
}

Result<StoreCleaning> cleanStore(const std::string& store) {
    TS_ASSIGN(const std::string path, storePath(store));
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return inputError("there is no store " + path + " to clean up");
    TS_ASSIGN(const auto opened, Store::open(path));
    TS_ASSIGN(const StoreGc gone, opened->gc());
    return StoreCleaning{gone.models + gone.workloads + gone.targets + gone.machines, gone.bytesFreed};
}

Result<std::vector<RunSummary>> tuningRuns(const std::string& store, const std::string& modelHash) {
    TS_ASSIGN(const std::string path, storePath(store));
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return std::vector<RunSummary>{};
    TS_ASSIGN(const auto opened, Store::open(path, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<ModelRow> models, opened->models());
    std::map<ModelId, std::string> hashes;
    for (const ModelRow& model : models)
        hashes[model.id] = model.hash;
    TS_ASSIGN(const std::vector<RunRow> rows, opened->runs());
    std::map<std::int64_t, StoredRunOptions> options;
    std::set<std::int64_t> followed;
    for (const RunRow& row : rows)
        followed.insert((options[row.id.value()] = optionsOf(row)).follows);
    std::vector<RunSummary> runs;
    for (const RunRow& row : rows) {
        if (row.kind == kLayoutsKind || row.kind == kLayoutTrialsKind)
            continue;
        if (!modelHash.empty() && (!row.model.valid() || hashes[row.model] != modelHash))
            continue;
        const std::int64_t id = row.id.value();
        runs.push_back({id, row.modelName, row.targetKey, row.strategy, runStateName(row.state),
                        row.stopReason, row.startedAt, row.beforeMs, row.afterMs, options[id].threads,
                        resumable(row, options[id], followed.contains(id)), options[id].space});
    }
    return runs;
}

namespace {

// As the last final timed it, in turns with the best; else the first trial's, whatever the machine did then.
std::optional<double> untunedMs(const std::vector<CurvePoint>& points) {
    std::optional<double> first;
    for (const CurvePoint& point : points) {
        if (!first)
            first = point.p5Ms;
        if (point.isFinal && point.objectives.size() > 1)
            first = point.objectives[1].value;
    }
    return first;
}

} // namespace

Result<std::vector<RunCurve>> runCurves(const std::string& store, std::int64_t run) {
    TS_ASSIGN(const auto opened, openStore(store, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<RunWorkloadSummary> rows, opened->runWorkloads(RunId(run)));
    std::vector<RunCurve> curves;
    for (const RunWorkloadSummary& row : rows) {
        RunCurve curve{row.plan.workload, row.name,           row.op,    {},         row.trials, row.failed,
                       row.plan.budget, row.plan.occurrences, row.plan.spaceSize, row.flops, row.bestMs, {}, {}};
        TS_ASSIGN(const auto workload, opened->workload(row.plan.workload));
        if (workload)
            curve.shape = workload->shape;
        TS_ASSIGN(const std::vector<CurvePoint> points, opened->curve(RunId(run), row.plan.workload));
        for (const CurvePoint& point : points)
            curve.points.push_back({point.index, point.status, point.p5Ms, point.bestMs, point.predicted});
        if (!points.empty())
            curve.bestMs = points.back().bestMs;
        curve.firstMs = untunedMs(points);
        curves.push_back(std::move(curve));
    }
    return curves;
}

} // namespace tunesmith
