// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/workload_history.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/workbench/open_store.h"
#include "core/workbench/run_options.h"

namespace tunesmith {
namespace {

StoredSearch searchOf(const RunRow& run, const std::vector<CurvePoint>& points) {
    StoredSearch search{run.id.value(), run.strategy, 0, 0, {}};
    for (const CurvePoint& point : points) {
        if (point.isFinal)
            continue;
        ++search.trials;
        if (!point.p5Ms || !std::isfinite(*point.p5Ms))
            ++search.failed;
        else if (search.best.empty() || *point.p5Ms < search.best.back().ms)
            search.best.push_back({search.trials, *point.p5Ms});
    }
    return search;
}

} // namespace

Result<std::vector<StoredSearch>> workloadSearches(const std::string& store, const std::string& workload, int threads,
                                                   std::optional<std::int64_t> run, const StopToken& stop) {
    std::vector<StoredSearch> searches;
    TS_ASSIGN(const std::string path, storePath(store));
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return searches;
    TS_ASSIGN(const auto opened, openStore(path, StoreMode::readOnly));
    TS_ASSIGN(const std::vector<RunRow> runs, opened->runs());
    std::optional<TargetId> target;
    if (const auto shown = std::ranges::find(runs, RunId(run.value_or(-1)), &RunRow::id); shown != runs.end())
        target = shown->target;
    for (const RunRow& row : runs) {
        if (stop.stopRequested())
            return cancelledError();
        if (row.kind != "tune" || optionsOf(row).threads != threads || (target && row.target != *target))
            continue;
        TS_ASSIGN(const std::vector<CurvePoint> points, opened->curve(row.id, workload));
        StoredSearch search = searchOf(row, points);
        if (search.trials == 0)
            continue;
        target = row.target;
        searches.push_back(std::move(search));
    }
    std::ranges::reverse(searches);
    return searches;
}

} // namespace tunesmith
