// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/queries.h"

#include "core/store/encoding.h"

namespace tunesmith::queries {

#define TRIAL_COLUMNS                                                                                        \
    "t.id, t.run_id, w.key, t.batch, t.idx, t.config, t.config_hash, t.effective, t.predicted, t.status, "   \
    "t.detail, "                                                                                             \
    "t.objectives, t.p5_ms, t.build_s, t.measured_at, t.feature_version, t.samples, t.final"

const char* const trialColumns = TRIAL_COLUMNS;

const char* const trialById =
    "SELECT " TRIAL_COLUMNS " FROM trial t CROSS JOIN workload w ON w.id = t.workload_id WHERE t.id = ?";

const char* const curve =
    "SELECT t.idx, t.batch, t.status, t.p5_ms, t.predicted, t.final, t.objectives FROM workload w CROSS JOIN trial t "
    "INDEXED BY trial_sequence ON t.workload_id = w.id WHERE t.run_id = ?1 AND w.key = ?2 ORDER BY t.idx";

#define RECORD_COLUMNS "w.key, w.name, w.op, w.shape, w.flops, g.key, m.key, " TRIAL_COLUMNS

// Times that no clock tells, or that no measurement lasts, are those of a damaged file.
#define IS_TIME "t.p5_ms BETWEEN 1e-7 AND 1e12"

const char* const bestRecord =
    "SELECT " RECORD_COLUMNS
    ", w.graph FROM workload w CROSS JOIN target g ON g.key = ?2 CROSS JOIN machine m ON m.id = g.machine_id "
    "CROSS JOIN record r ON r.workload_id = w.id AND r.target_id = g.id CROSS JOIN trial t ON t.id = "
    "r.trial_id "
    "WHERE w.key = ?1 AND (?3 = '' OR m.key = ?3) AND " IS_TIME " ORDER BY r.p5_ms, r.trial_id LIMIT 1";

// Several machines may have the target; SQLite takes the bare columns from the row of min().
const char* const bestRecords =
    "SELECT " RECORD_COLUMNS
    " FROM (SELECT r.workload_id, r.trial_id, r.target_id, min(r.p5_ms) FROM target g "
    "CROSS JOIN machine m ON m.id = g.machine_id CROSS JOIN record r INDEXED BY record_target ON r.target_id "
    "= g.id "
    "WHERE g.key = ?1 AND (?2 = '' OR m.key = ?2) GROUP BY r.workload_id) best "
    "CROSS JOIN workload w ON w.id = best.workload_id CROSS JOIN target g ON g.id = best.target_id "
    "CROSS JOIN machine m ON m.id = g.machine_id CROSS JOIN trial t ON t.id = best.trial_id ORDER BY w.id";

std::string bestTrials(const std::string& source) {
    return "(SELECT id, workload_id, target_id, p5_ms FROM (SELECT *, row_number() OVER (PARTITION BY workload_id, target_id "
           "ORDER BY p5_ms, id) AS place FROM (SELECT t.id, t.workload_id, r.target_id, t.p5_ms, max(t.final * t.id) OVER "
           "(PARTITION BY t.workload_id, r.target_id) AS since FROM " +
           source + ") WHERE id >= since) WHERE place = 1)";
}

namespace {

const char* indexFor(const TrialFilter& filter) {
    if (filter.configHash)
        return "INDEXED BY trial_config";
    if (filter.order == TrialOrder::fastestFirst)
        return "INDEXED BY trial_fastest";
    if (filter.run && !filter.workload.empty())
        return "INDEXED BY trial_pair";
    if (filter.run)
        return "INDEXED BY trial_run";
    return filter.workload.empty() ? "NOT INDEXED" : "INDEXED BY trial_workload";
}

std::string conditions(const TrialFilter& filter) {
    std::string sql = " WHERE true";
    if (filter.run)
        sql += " AND t.run_id = ?1";
    if (!filter.workload.empty())
        sql += " AND t.workload_id = (SELECT id FROM workload WHERE key = ?2)";
    if (!filter.status.empty())
        sql += " AND t.status = ?3";
    if (filter.configHash)
        sql += " AND t.config_hash = ?4";
    if (filter.order == TrialOrder::fastestFirst)
        sql += " AND t.status = 'ok'";
    if (filter.after.valid() && filter.order == TrialOrder::oldestFirst)
        sql += " AND t.id > ?5";
    if (filter.after.valid() && filter.order == TrialOrder::newestFirst)
        sql += " AND t.id < ?5";
    if (filter.after.valid() && filter.order == TrialOrder::fastestFirst)
        sql += " AND (t.p5_ms, t.id) > (SELECT p5_ms, id FROM trial WHERE id = ?5)";
    return sql;
}

const char* ordering(TrialOrder order) {
    switch (order) {
    case TrialOrder::oldestFirst:
        return " ORDER BY t.id";
    case TrialOrder::newestFirst:
        return " ORDER BY t.id DESC";
    case TrialOrder::fastestFirst:
        return " ORDER BY t.p5_ms, t.id";
    }
    return "";
}

} // namespace

Result<std::string> trials(const TrialFilter& filter) {
    if (filter.limit < 1)
        return inputError("a page of trials needs a limit of at least 1");
    if (filter.workload.empty() && filter.configHash)
        return inputError("looking for a config needs the workload it belongs to");
    if (filter.order == TrialOrder::fastestFirst && (filter.workload.empty() || filter.configHash))
        return inputError(
            "fastest first needs one workload and no config: times of different workloads do not compare");
    // ?6 is always used, so that all six parameters always exist.
    return std::string("SELECT ") + trialColumns + " FROM trial t " + indexFor(filter) +
           " CROSS JOIN workload w ON w.id = t.workload_id" + conditions(filter) + ordering(filter.order) +
           " LIMIT ?6";
}

void bindTrials(sqlite::Statement& statement, const TrialFilter& filter) {
    statement.bind(filter.run ? filter.run->value() : -1).bind(filter.workload).bind(filter.status);
    statement.bindBits(filter.configHash.value_or(0)).bind(filter.after.value()).bind(filter.limit);
}

TrialRow trialOf(sqlite::Statement& row, int column) {
    TrialRow trial;
    trial.id = TrialId(row.integer(column));
    trial.run = RunId(row.integer(column + 1));
    trial.workload = row.text(column + 2);
    trial.batch = row.integer(column + 3);
    trial.index = row.integer(column + 4);
    trial.config = row.text(column + 5);
    trial.configHash = static_cast<std::uint64_t>(row.integer(column + 6));
    if (!row.isNull(column + 7))
        trial.effective = row.text(column + 7);
    trial.predicted = row.optionalReal(column + 8);
    trial.status = row.text(column + 9);
    trial.detail = row.text(column + 10);
    trial.objectives = encoding::objectives(row.text(column + 11));
    trial.p5Ms = row.optionalReal(column + 12);
    trial.buildSeconds = row.real(column + 13);
    trial.measuredAt = row.integer(column + 14);
    trial.featureVersion = row.smallInteger(column + 15);
    trial.samples = encoding::samples(row.blob(column + 16));
    trial.isFinal = row.integer(column + 17) != 0;
    return trial;
}

} // namespace tunesmith::queries
