// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/encoding.h"
#include "core/store/owner.h"
#include "core/store/queries.h"
#include "core/store/store_impl.h"

// The life of a run, its workloads and the states it resumes from.
namespace tunesmith {

const char* runStateName(RunState state) {
    switch (state) {
    case RunState::running:
        return "RUNNING";
    case RunState::stopped:
        return "STOPPED";
    case RunState::completed:
        return "COMPLETED";
    case RunState::failed:
        return "FAILED";
    }
    return "";
}

namespace {

using sqlite::Connection;
using sqlite::Statement;

RunState runStateOf(const std::string& name) {
    for (const auto state : {RunState::running, RunState::stopped, RunState::completed})
        if (name == runStateName(state))
            return state;
    return RunState::failed;
}

constexpr const char* kRunColumns =
    "SELECT r.id, r.kind, r.model_id, r.target_id, r.strategy, r.seed, r.options, r.state, r.stop_reason, "
    "r.started_at, "
    "r.ended_at, r.before_ms, r.after_ms, r.version, r.resume, r.owner, m.name, t.key "
    "FROM run r LEFT JOIN model m ON m.id = r.model_id LEFT JOIN target t ON t.id = r.target_id ";

RunRow runOf(Statement& row) {
    RunRow run;
    run.id = RunId(row.integer(0));
    run.kind = row.text(1);
    run.model = optionalId<ModelTag>(row, 2);
    run.target = optionalId<TargetTag>(row, 3);
    run.strategy = row.text(4);
    run.seed = static_cast<std::uint64_t>(row.integer(5));
    run.options = row.text(6);
    run.state = runStateOf(row.text(7));
    run.stopReason = row.text(8);
    run.startedAt = row.integer(9);
    if (!row.isNull(10))
        run.endedAt = row.integer(10);
    run.beforeMs = row.optionalReal(11);
    run.afterMs = row.optionalReal(12);
    run.version = row.text(13);
    run.resume = row.text(14);
    run.interrupted = run.state == RunState::running && !ownerAlive(row.text(15));
    run.modelName = row.text(16);
    run.targetKey = row.text(17);
    return run;
}

Error unknownRun(const Connection& connection, RunId run) {
    return inputError("the store " + connection.path() + " has no run " + std::to_string(run.value()) +
                      "; list the runs to see which there are");
}

Status insertRunWorkloads(Connection& connection, std::int64_t run,
                          const std::vector<RunWorkloadRow>& workloads) {
    TS_ASSIGN(const auto first,
              connection.number("SELECT coalesce(max(ordinal) + 1, 0) FROM run_workload WHERE run_id = " +
                                std::to_string(run)));
    auto ordinal = first;
    for (const auto& workload : workloads) {
        TS_ASSIGN(const auto number, workloadNumber(connection, workload.workload));
        TS_ASSIGN(auto insert, connection.prepare("INSERT INTO run_workload(run_id, workload_id, ordinal, "
                                                  "occurrences, space, space_size, budget) "
                                                  "VALUES (?, ?, ?, ?, ?, ?, ?)"));
        insert.bind(run).bind(number).bind(ordinal++).bind(workload.occurrences).bind(workload.space);
        TS_TRY(insert.bind(workload.spaceSize).bind(workload.budget).run());
    }
    return {};
}

Result<std::int64_t> insertRun(Connection& connection, const RunRow& run, const std::string& owner) {
    TS_ASSIGN(auto insert, connection.prepare("INSERT INTO run(kind, model_id, target_id, strategy, seed, "
                                              "options, state, stop_reason, started_at, "
                                              "before_ms, after_ms, version, owner, resume) "
                                              "VALUES (?, ?, ?, ?, ?, ?, 'RUNNING', '', ?, ?, ?, ?, ?, ?)"));
    insert.bind(run.kind).bind(optionalNumber(run.model)).bind(optionalNumber(run.target)).bind(run.strategy);
    insert.bindBits(run.seed).bind(run.options).bind(run.startedAt ? run.startedAt : millisecondsSince1970());
    insert.bind(run.beforeMs).bind(run.afterMs).bind(run.version).bind(owner).bind(run.resume);
    TS_TRY(insert.run());
    return connection.lastRowId();
}

RunWorkloadSummary summaryOf(Statement& row) {
    RunWorkloadSummary summary;
    summary.plan = {row.text(0), row.smallInteger(1), row.text(2), row.real(3), row.integer(4)};
    summary.name = row.text(5);
    summary.op = row.text(6);
    summary.flops = row.real(7);
    summary.trials = row.integer(8);
    summary.failed = summary.trials - row.integer(9);
    summary.bestMs = row.optionalReal(10);
    if (!row.isNull(11))
        summary.best = TrialId(row.integer(11));
    return summary;
}

// Trials, ok trials and the best one of each workload. SQLite takes the bare column t.id from the row of
// min().
constexpr const char* kSummaries =
    "SELECT w.key, p.occurrences, p.space, p.space_size, p.budget, w.name, w.op, w.flops, coalesce(s.trials, "
    "0), "
    "coalesce(s.good, 0), s.best_ms, CASE WHEN s.best_ms IS NULL THEN NULL ELSE s.best_id END "
    "FROM run_workload p JOIN workload w ON w.id = p.workload_id LEFT JOIN "
    "(SELECT workload_id, count(*) AS trials, count(t.p5_ms) AS good, min(t.p5_ms) AS best_ms, t.id AS "
    "best_id "
    "FROM trial t INDEXED BY trial_pair WHERE t.run_id = ?1 GROUP BY workload_id) s ON s.workload_id = "
    "p.workload_id "
    "WHERE p.run_id = ?1 ORDER BY p.ordinal";

struct RunLife {
    bool running = false;
    std::string owner;
};

Result<RunLife> lifeOf(Connection& connection, RunId run) {
    TS_ASSIGN(auto row, connection.prepare("SELECT state, owner FROM run WHERE id = ?"));
    row.bind(run.value());
    TS_ASSIGN(const bool found, row.step());
    if (!found)
        return unknownRun(connection, run);
    return RunLife{row.text(0) == runStateName(RunState::running), row.text(1)};
}

} // namespace

Status requireOwnRun(Connection& connection, RunId run, const std::string& owner) {
    TS_ASSIGN(const auto life, lifeOf(connection, run));
    if (life.running && life.owner == owner)
        return {};
    return inputError(
        "run " + std::to_string(run.value()) + " in the store " + connection.path() +
        " does not belong to this process (it ended or was resumed by another); resume it first");
}

Status writeRunState(Connection& connection, const RunStateRow& state) {
    TS_TRY(encoding::requireJson(state.state, "the state of the strategy"));
    if (state.workload.empty()) {
        TS_ASSIGN(auto update, connection.prepare("UPDATE run SET resume = ? WHERE id = ?"));
        return update.bind(state.state).bind(state.run.value()).run();
    }
    TS_ASSIGN(const auto number, workloadNumber(connection, state.workload));
    TS_ASSIGN(auto insert, connection.prepare("INSERT INTO run_state(run_id, workload_id, batch, next_idx, "
                                              "state, saved_at) VALUES (?, ?, ?, ?, ?, ?) "
                                              "ON CONFLICT(run_id, workload_id) DO UPDATE SET batch = "
                                              "excluded.batch, next_idx = excluded.next_idx, "
                                              "state = excluded.state, saved_at = excluded.saved_at"));
    insert.bind(state.run.value()).bind(number).bind(state.batch).bind(state.nextIndex);
    return insert.bind(state.state).bind(millisecondsSince1970()).run();
}

Result<RunId> Store::beginRun(const RunRow& run, const std::vector<RunWorkloadRow>& workloads) {
    TS_TRY(encoding::requireJson(run.options, "the options of the run"));
    TS_TRY(encoding::requireJson(run.resume, "the state of the run"));
    auto begun = impl_->write<RunId>(Durability::powerLoss, [&](Connection& connection) -> Result<RunId> {
        TS_ASSIGN(const auto id, insertRun(connection, run, impl_->owner));
        TS_TRY(insertRunWorkloads(connection, id, workloads));
        return RunId(id);
    });
    if (begun.ok())
        impl_->hand.take(*begun);
    return begun;
}

Status Store::addRunWorkloads(RunId run, const std::vector<RunWorkloadRow>& workloads) {
    return impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_TRY(requireOwnRun(connection, run, impl_->owner));
        return insertRunWorkloads(connection, run.value(), workloads);
    });
}

Status Store::resumeRun(RunId run) {
    if (!impl_->hand.take(run))
        return inputError("run " + std::to_string(run.value()) + " in the store " + path() + " is being worked on elsewhere in this program; stop that first");
    const Status resumed = impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_ASSIGN(const auto life, lifeOf(connection, run));
        if (life.running && life.owner != impl_->owner && ownerAlive(life.owner))
            return inputError("run " + std::to_string(run.value()) + " in the store " + connection.path() +
                              " is being worked on by another process; stop that first");
        TS_ASSIGN(auto update, connection.prepare("UPDATE run SET state = 'RUNNING', stop_reason = '', "
                                                  "ended_at = NULL, owner = ? WHERE id = ?"));
        return update.bind(impl_->owner).bind(run.value()).run();
    });
    if (!resumed.ok())
        impl_->hand.leave(run);
    return resumed;
}

Status Store::setRunLatency(RunId run, std::optional<double> beforeMs, std::optional<double> afterMs) {
    return impl_->change(Durability::processDeath, [&](Connection& connection) -> Status {
        TS_ASSIGN(auto update, connection.prepare("UPDATE run SET before_ms = coalesce(?, before_ms), "
                                                  "after_ms = coalesce(?, after_ms) WHERE id = ?"));
        TS_TRY(update.bind(beforeMs).bind(afterMs).bind(run.value()).run());
        return connection.changes() == 1 ? Status() : Status(unknownRun(connection, run));
    });
}

Status Store::endRun(RunId run, const RunEnd& end) {
    if (end.state == RunState::running)
        return internalError("a run cannot end as RUNNING");
    const Status ended = impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_TRY(requireOwnRun(connection, run, impl_->owner));
        // A clock that was set back must not make a run end before it started.
        TS_ASSIGN(auto update,
                  connection.prepare(
                      "UPDATE run SET state = ?, stop_reason = ?, ended_at = max(?, started_at), "
                      "before_ms = coalesce(?, before_ms), after_ms = coalesce(?, after_ms) WHERE id = ?"));
        update.bind(runStateName(end.state)).bind(end.stopReason).bind(millisecondsSince1970());
        return update.bind(end.beforeMs).bind(end.afterMs).bind(run.value()).run();
    });
    if (ended.ok())
        impl_->hand.leave(run);
    return ended;
}

Status Store::removeRun(RunId run) {
    return impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_ASSIGN(const auto life, lifeOf(connection, run));
        if (life.running && ownerAlive(life.owner))
            return inputError("run " + std::to_string(run.value()) + " in the store " + connection.path() +
                              " is running; stop it first");
        const std::string id = std::to_string(run.value());
        const std::string pairs = "(SELECT p.workload_id, r.target_id FROM run_workload p, run r WHERE "
                                  "p.run_id = r.id AND r.id = " +
                                  id + ")";
        TS_TRY(connection.execute("CREATE TEMP TABLE touched AS SELECT workload_id, target_id FROM record "
                                  "WHERE (workload_id, target_id) IN " +
                                  pairs +
                                  "; DELETE FROM record WHERE (workload_id, target_id) IN (SELECT "
                                  "workload_id, target_id FROM touched);"
                                  "DELETE FROM run WHERE id = " +
                                  id));
        return connection.execute(
            "INSERT INTO record(workload_id, target_id, trial_id, p5_ms) SELECT workload_id, target_id, id, p5_ms FROM " +
            queries::bestTrials("touched f CROSS JOIN trial t ON t.workload_id = f.workload_id AND t.status = 'ok' "
                                "CROSS JOIN run r ON r.id = t.run_id AND r.target_id = f.target_id") +
            "; DROP TABLE touched");
    });
}

Status Store::saveRunState(const RunStateRow& state) {
    return impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_TRY(requireOwnRun(connection, state.run, impl_->owner));
        return writeRunState(connection, state);
    });
}

Result<std::vector<RunRow>> Store::runs() const {
    return impl_->read<std::vector<RunRow>>([](Connection& connection) -> Result<std::vector<RunRow>> {
        TS_ASSIGN(auto rows, connection.prepare(std::string(kRunColumns) + "ORDER BY r.id DESC"));
        return allRows(rows, &runOf);
    });
}

Result<RunRow> Store::run(RunId run) const {
    return impl_->read<RunRow>([&](Connection& connection) -> Result<RunRow> {
        TS_ASSIGN(auto row, connection.prepare(std::string(kRunColumns) + "WHERE r.id = ?"));
        row.bind(run.value());
        TS_ASSIGN(const bool found, row.step());
        return found ? Result<RunRow>(runOf(row)) : Result<RunRow>(unknownRun(connection, run));
    });
}

Result<std::vector<RunWorkloadSummary>> Store::runWorkloads(RunId run) const {
    return impl_->read<std::vector<RunWorkloadSummary>>(
        [&](Connection& connection) -> Result<std::vector<RunWorkloadSummary>> {
            TS_ASSIGN(auto rows, connection.prepare(kSummaries));
            rows.bind(run.value());
            return allRows(rows, &summaryOf);
        });
}

Result<std::optional<RunStateRow>> Store::runState(RunId run, const std::string& workload) const {
    using Found = std::optional<RunStateRow>;
    return impl_->read<Found>([&](Connection& connection) -> Result<Found> {
        TS_ASSIGN(auto row,
                  connection.prepare(
                      workload.empty()
                          ? "SELECT 0, 0, resume FROM run WHERE id = ?1 AND ?2 = ''"
                          : "SELECT s.batch, s.next_idx, s.state FROM workload w CROSS JOIN run_state s "
                            "ON s.workload_id = w.id WHERE s.run_id = ?1 AND w.key = ?2"));
        row.bind(run.value()).bind(workload);
        TS_ASSIGN(const bool found, row.step());
        return found ? Found(RunStateRow{run, workload, row.integer(0), row.integer(1), row.text(2)})
                     : Found();
    });
}

} // namespace tunesmith
