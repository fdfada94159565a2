// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include "core/store/encoding.h"
#include "core/store/queries.h"
#include "core/store/store_impl.h"

// Trials and the records they make.
namespace tunesmith {
namespace {

using sqlite::Connection;
using sqlite::Statement;

std::string nameOf(const TrialRow& trial) {
    return "trial " + std::to_string(trial.index) + " of workload '" + trial.workload + "' in run " +
           std::to_string(trial.run.value());
}

Status validate(const TrialRow& trial) {
    if (trial.index < 0 || trial.batch < 0 || trial.status.empty() || !std::isfinite(trial.buildSeconds))
        return internalError(nameOf(trial) + " has no valid batch, index, status or build time");
    if (trial.ok() != trial.p5Ms.has_value() || (trial.p5Ms && !std::isfinite(*trial.p5Ms)))
        return internalError(nameOf(trial) + " has status '" + trial.status +
                             "', which does not fit its time");
    if (trial.ok() && trial.samples.empty())
        return internalError(nameOf(trial) + " is ok but has no samples");
    if (trial.isFinal && !trial.ok())
        return internalError(nameOf(trial) + " is final but has status '" + trial.status + "'");
    return {};
}

Result<std::int64_t> insertTrial(Connection& connection, const TrialRow& trial, std::int64_t workload) {
    TS_ASSIGN(auto insert,
              connection.prepare("INSERT INTO trial(run_id, workload_id, batch, idx, config, config_hash, "
                                 "effective, predicted, status, "
                                 "detail, objectives, p5_ms, build_s, measured_at, feature_version, samples, final) "
                                 "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON "
                                 "CONFLICT(run_id, workload_id, idx) DO NOTHING"));
    const bool predicted = trial.predicted && std::isfinite(*trial.predicted);
    insert.bind(trial.run.value()).bind(workload).bind(trial.batch).bind(trial.index).bind(trial.config);
    insert.bindBits(trial.configHash).bind(trial.effective).bind(predicted ? trial.predicted : std::nullopt);
    insert.bind(trial.status)
        .bind(trial.detail)
        .bind(encoding::objectives(trial.objectives))
        .bind(trial.p5Ms);
    insert.bind(trial.buildSeconds).bind(trial.measuredAt ? trial.measuredAt : millisecondsSince1970());
    TS_TRY(insert.bind(trial.featureVersion).bindBlob(encoding::samples(trial.samples)).bind(trial.isFinal ? 1 : 0).run());
    if (connection.changes() != 1)
        return inputError("the store " + connection.path() + " has " + nameOf(trial) +
                          " already; resume the run instead of repeating it");
    return connection.lastRowId();
}

Status updateRecord(Connection& connection, const TrialRow& trial, std::int64_t workload, std::int64_t id) {
    TS_ASSIGN(
        auto upsert,
        connection.prepare(
            "INSERT INTO record(workload_id, target_id, trial_id, p5_ms) SELECT ?, target_id, ?, ? FROM run "
            "WHERE id = ? AND target_id IS NOT NULL ON CONFLICT(workload_id, target_id) DO UPDATE SET "
            "trial_id = excluded.trial_id, p5_ms = excluded.p5_ms WHERE ? OR excluded.p5_ms < record.p5_ms"));
    upsert.bind(workload).bind(id).bind(trial.p5Ms).bind(trial.run.value()).bind(trial.isFinal ? 1 : 0);
    return upsert.run();
}

Result<std::int64_t> storeTrial(Connection& connection, const TrialRow& trial, const std::string& owner) {
    TS_TRY(requireOwnRun(connection, trial.run, owner));
    TS_ASSIGN(const auto workload, workloadNumber(connection, trial.workload));
    TS_ASSIGN(const auto id, insertTrial(connection, trial, workload));
    if (trial.ok())
        TS_TRY(updateRecord(connection, trial, workload, id));
    return id;
}

TrialRow trialAtStart(Statement& row) {
    return queries::trialOf(row);
}

Record recordOf(Statement& row) {
    Record record;
    record.workload = {row.text(0), row.text(1), row.text(2), row.text(3), {}, row.real(4)};
    record.targetKey = row.text(5);
    record.machineKey = row.text(6);
    record.trial = queries::trialOf(row, 7);
    return record;
}

CurvePoint pointOf(Statement& row) {
    return {row.integer(0),      row.integer(1), row.text(2),
            row.optionalReal(3), std::nullopt,   row.optionalReal(4),
            row.integer(5) != 0,  row.integer(5) != 0 ? encoding::objectives(row.text(6)) : std::vector<Objective>()};
}

} // namespace

Result<TrialId> Store::addTrial(const TrialRow& trial, const RunStateRow* state) {
    TS_TRY(validate(trial));
    if (state && state->run != trial.run)
        return internalError(nameOf(trial) + " comes with the state of another run");
    const auto durability = state ? Durability::powerLoss : Durability::processDeath;
    return impl_->write<TrialId>(durability, [&](Connection& connection) -> Result<TrialId> {
        TS_ASSIGN(const auto id, storeTrial(connection, trial, impl_->owner));
        if (state)
            TS_TRY(writeRunState(connection, *state));
        return TrialId(id);
    });
}

Result<TrialId> Store::addVerdict(const TrialRow& trial) {
    if (!trial.isFinal)
        return internalError(nameOf(trial) + " is no verdict: it is not final");
    TS_TRY(validate(trial));
    return impl_->write<TrialId>(Durability::powerLoss, [&](Connection& connection) -> Result<TrialId> {
        TS_ASSIGN(const auto workload, workloadNumber(connection, trial.workload));
        TS_ASSIGN(auto next, connection.prepare("SELECT coalesce(max(idx), -1) + 1, coalesce(max(batch), 0) FROM trial "
                                                    "WHERE run_id = ? AND workload_id = ?"));
        next.bind(trial.run.value()).bind(workload);
        TS_ASSIGN([[maybe_unused]] const bool found, next.step());
        TrialRow row = trial;
        row.index = next.integer(0);
        row.batch = next.integer(1);
        TS_ASSIGN(const auto id, insertTrial(connection, row, workload));
        TS_TRY(updateRecord(connection, row, workload, id));
        return TrialId(id);
    });
}

Status Store::addTrials(const std::vector<TrialRow>& trials) {
    for (const TrialRow& trial : trials)
        TS_TRY(validate(trial));
    return impl_->change(Durability::processDeath, [&](Connection& connection) -> Status {
        for (const TrialRow& trial : trials) {
            const auto id = storeTrial(connection, trial, impl_->owner);
            if (!id.ok())
                return id.error();
        }
        return {};
    });
}

Result<std::vector<TrialRow>> Store::trials(const TrialFilter& filter) const {
    TS_ASSIGN(const auto sql, queries::trials(filter));
    return impl_->read<std::vector<TrialRow>>([&](Connection& connection) -> Result<std::vector<TrialRow>> {
        TS_ASSIGN(auto rows, connection.prepare(sql));
        queries::bindTrials(rows, filter);
        return allRows(rows, &trialAtStart);
    });
}

Result<TrialRow> Store::trial(TrialId trial) const {
    return impl_->read<TrialRow>([&](Connection& connection) -> Result<TrialRow> {
        TS_ASSIGN(auto row, connection.prepare(queries::trialById));
        row.bind(trial.value());
        TS_ASSIGN(const bool found, row.step());
        if (!found)
            return inputError("the store " + connection.path() + " has no trial " +
                              std::to_string(trial.value()) +
                              "; list the trials of the run to see which there are");
        return queries::trialOf(row);
    });
}

Result<std::vector<CurvePoint>> Store::curve(RunId run, const std::string& workload) const {
    return impl_->read<std::vector<CurvePoint>>(
        [&](Connection& connection) -> Result<std::vector<CurvePoint>> {
            TS_ASSIGN(auto rows, connection.prepare(queries::curve));
            rows.bind(run.value()).bind(workload);
            TS_ASSIGN(auto points, allRows(rows, &pointOf));
            std::optional<double> best;
            for (auto& point : points) {
                if (point.p5Ms)
                    best = best && !point.isFinal ? std::min(*best, *point.p5Ms) : *point.p5Ms;
                point.bestMs = best;
            }
            return points;
        });
}

Result<std::optional<Record>> Store::bestRecord(const std::string& workload, const std::string& target,
                                                const std::string& machine) const {
    using Found = std::optional<Record>;
    return impl_->read<Found>([&](Connection& connection) -> Result<Found> {
        TS_ASSIGN(auto row, connection.prepare(queries::bestRecord));
        row.bind(workload).bind(target).bind(machine);
        TS_ASSIGN(const bool found, row.step());
        if (!found)
            return Found();
        Record record = recordOf(row);
        const auto graph = row.blob(7 + queries::trialColumnCount);
        record.workload.graph.assign(graph.begin(), graph.end());
        return Found(std::move(record));
    });
}

Result<std::vector<Record>> Store::bestRecords(const std::string& target, const std::string& machine) const {
    return impl_->read<std::vector<Record>>([&](Connection& connection) -> Result<std::vector<Record>> {
        TS_ASSIGN(auto rows, connection.prepare(queries::bestRecords));
        rows.bind(target).bind(machine);
        return allRows(rows, &recordOf);
    });
}

} // namespace tunesmith
