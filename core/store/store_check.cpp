// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <filesystem>

#include "core/store/queries.h"
#include "core/store/schema.h"
#include "core/store/store_impl.h"

// Does the file keep what FORMAT.md promises, how large is it, and what can go.
namespace tunesmith {
namespace {

using sqlite::Connection;

// Each query gives one sentence per violation.
const std::string kInvariants[] = {
    "SELECT 'trial ' || id || ' is ' || status || ', which does not fit its time or samples' FROM trial "
    "WHERE (status = 'ok') <> (p5_ms IS NOT NULL) OR (status = 'ok' AND length(samples) = 0) OR "
    "length(samples) % 4 <> 0",

    "SELECT 'trial ' || t.id || ' has the impossible time or score ' || t.p5_ms FROM trial t JOIN run r ON r.id = t.run_id WHERE t.p5_ms NOT BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 "
    "OR (r.kind <> 'problem' AND t.p5_ms NOT BETWEEN 0 AND 1e12)",

    "SELECT 'the numbers of table ' || name || ' are used up: it takes no more rows' FROM (SELECT name, seq AS last FROM sqlite_sequence UNION ALL SELECT 'run', max(id) FROM run "
    "UNION ALL SELECT 'trial', max(id) FROM trial UNION ALL SELECT 'job', max(id) FROM job UNION ALL SELECT 'job_session', max(id) FROM job_session) "
    "WHERE last NOT BETWEEN 0 AND 4611686018427387904",

    "SELECT 'run ' || s.run_id || ' accounts for ' || s.next_idx || ' trials of workload ' || w.key || ', "
    "but has ' || "
    "(SELECT count(*) FROM trial t WHERE t.run_id = s.run_id AND t.workload_id = s.workload_id AND t.idx < "
    "s.next_idx) "
    "FROM run_state s JOIN workload w ON w.id = s.workload_id WHERE s.next_idx <> "
    "(SELECT count(*) FROM trial t WHERE t.run_id = s.run_id AND t.workload_id = s.workload_id AND t.idx < "
    "s.next_idx)",

    "SELECT 'completed run ' || t.run_id || ' lacks ' || (max(t.idx) + 1 - count(*)) || ' trials of workload "
    "' || w.key "
    "FROM trial t JOIN run r ON r.id = t.run_id JOIN workload w ON w.id = t.workload_id WHERE r.state = "
    "'COMPLETED' "
    "GROUP BY t.run_id, t.workload_id HAVING max(t.idx) + 1 <> count(*)",

    "SELECT 'run ' || t.run_id || ' has trial ' || t.idx || ' of workload ' || w.key || ' twice' FROM trial "
    "t NOT INDEXED "
    "JOIN workload w ON w.id = t.workload_id GROUP BY t.run_id, t.workload_id, t.idx HAVING count(*) > 1",

    "SELECT 'trial ' || id || ' belongs to an earlier batch than the one before it' FROM (SELECT id, batch, "
    "lag(batch) OVER "
    "(PARTITION BY run_id, workload_id ORDER BY idx) AS before FROM trial) WHERE batch < before",

    "SELECT 'the record of workload ' || w.key || ' on ' || g.key || ' is not its best trial, ' || best.id "
    "FROM " +
        queries::bestTrials("trial t JOIN run r ON r.id = t.run_id WHERE t.status = 'ok' AND r.target_id IS NOT NULL") +
        " best "
    "JOIN workload w ON w.id = best.workload_id JOIN target g ON g.id = best.target_id LEFT JOIN record c "
    "ON c.workload_id = best.workload_id AND c.target_id = best.target_id "
    "WHERE c.trial_id IS NOT best.id OR c.p5_ms IS NOT best.p5_ms",

    "SELECT 'the record of workload ' || c.workload_id || ' on target ' || c.target_id || ' has no ok trial' "
    "FROM record c "
    "WHERE NOT EXISTS (SELECT 1 FROM trial t JOIN run r ON r.id = t.run_id WHERE t.id = c.trial_id AND "
    "t.status = 'ok' "
    "AND t.workload_id = c.workload_id AND r.target_id = c.target_id)",

    "SELECT 'run ' || id || ' is ' || state || ', which does not fit its times' FROM run "
    "WHERE (state = 'RUNNING') <> (ended_at IS NULL) OR ended_at < started_at",

    "SELECT 'the ' || what || ' ' || id || ' holds text that is not JSON' FROM ("
    "SELECT 'machine' AS what, id FROM machine WHERE NOT json_valid(ceilings) UNION ALL "
    "SELECT 'run', id FROM run WHERE NOT json_valid(options) OR NOT json_valid(resume) UNION ALL "
    "SELECT 'state', id FROM run_state WHERE NOT json_valid(state) UNION ALL "
    "SELECT 'trial', id FROM trial WHERE NOT json_valid(objectives) UNION ALL "
    "SELECT 'rule', id FROM rule WHERE NOT json_valid(preconditions) OR NOT json_valid(proof_conditions) UNION ALL "
    "SELECT 'job', id FROM job WHERE NOT json_valid(what) UNION ALL "
    "SELECT 'session of jobs', id FROM job_session WHERE NOT json_valid(resources) UNION ALL "
    "SELECT 'slice', id FROM job_slice WHERE NOT json_valid(uses))",
};

constexpr std::size_t kMostProblems = 100;

class Checker {
public:
    explicit Checker(Connection& connection) : connection_(connection) {}

    StoreCheck run() {
        sentences("PRAGMA integrity_check(20)", "", "ok");
        sentences("SELECT \"table\" || ' row ' || coalesce(rowid, '?') || ' refers to a missing row of ' || "
                  "parent FROM pragma_foreign_key_check",
                  "");
        compareSchema();
        for (const std::string& invariant : kInvariants)
            sentences(invariant.c_str(), "");
        check_.runs = count("run");
        check_.trials = count("trial");
        check_.ok = check_.problems.empty();
        return std::move(check_);
    }

private:
    void problem(const std::string& sentence) {
        if (check_.problems.size() < kMostProblems)
            check_.problems.push_back(sentence);
    }

    // Every row is a problem, except the one that says that all is well. So is a query that fails on damaged
    // pages.
    void sentences(const char* sql, const std::string& prefix, const std::string& good = {}) {
        auto statement = connection_.prepare(sql);
        if (!statement.ok())
            return problem(statement.error().message);
        for (;;) {
            const auto row = statement->step();
            if (!row.ok())
                return problem(row.error().message);
            if (!row.value() || check_.problems.size() >= kMostProblems)
                return;
            if (const std::string text = statement->text(0); text != good)
                problem(prefix + text);
        }
    }

    void compareSchema() {
        const auto version = connection_.number("PRAGMA user_version"); // a reader may have found an older one
        if (!version.ok())
            return problem(version.error().message);
        const auto known = std::clamp<std::int64_t>(*version, schema::kOldestReadable, schema::currentVersion());
        const auto differing = schema::differences(connection_, static_cast<int>(known));
        if (!differing.ok())
            return problem(differing.error().message);
        for (const std::string& sentence : differing.value())
            problem(sentence);
    }

    std::int64_t count(const std::string& table) {
        const auto number = connection_.number("SELECT count(*) FROM " + table);
        if (!number.ok())
            problem(number.error().message);
        return number.valueOr(0);
    }

    Connection& connection_;
    StoreCheck check_;
};

std::int64_t sizeOf(const std::string& path) {
    std::error_code code;
    const auto size = std::filesystem::file_size(path, code);
    return code ? 0 : static_cast<std::int64_t>(size);
}

Result<std::int64_t> removeUnused(Connection& connection, const std::string& table, const std::string& used) {
    TS_TRY(connection.execute("DELETE FROM " + table + " WHERE id NOT IN (" + used + ")"));
    return connection.changes();
}

} // namespace

Result<StoreCheck> Store::check() const {
    return impl_->read<StoreCheck>([](Connection& connection) -> Result<StoreCheck> {
        const sqlite::Unhurried unhurried(connection);
        StoreCheck check;
        const Status snapshot = connection.transaction("", [&]() -> Status {
            check = Checker(connection).run();
            return {};
        });
        if (!snapshot.ok()) {
            check.ok = false;
            check.problems.push_back(snapshot.error().message);
        }
        return check;
    });
}

Result<StoreStats> Store::stats() const {
    return impl_->read<StoreStats>([&](Connection& connection) -> Result<StoreStats> {
        const sqlite::Unhurried unhurried(connection);
        StoreStats stats;
        stats.fileBytes = sizeOf(impl_->path);
        stats.logBytes = sizeOf(impl_->path + "-wal");
        TS_ASSIGN(const auto version, connection.number("PRAGMA user_version"));
        stats.version = static_cast<int>(version);
        TS_ASSIGN(const auto freePages, connection.number("PRAGMA freelist_count"));
        TS_ASSIGN(const auto pageSize, connection.number("PRAGMA page_size"));
        stats.freeBytes = freePages * pageSize;
        const std::pair<const char*, std::int64_t*> tables[] = {
            {"machine", &stats.machines},   {"target", &stats.targets}, {"model", &stats.models},
            {"workload", &stats.workloads}, {"run", &stats.runs},       {"trial", &stats.trials},
            {"record", &stats.records},   {"rule", &stats.rules},
        };
        for (const auto& [table, count] : tables) {
            TS_ASSIGN(*count, connection.number(std::string("SELECT count(*) FROM ") + table));
        }
        TS_ASSIGN(auto rows,
                  connection.prepare("SELECT status, count(*) FROM trial GROUP BY status ORDER BY status"));
        for (;;) {
            TS_ASSIGN(const bool row, rows.step());
            if (!row)
                return stats;
            stats.trialsByStatus.emplace_back(rows.text(0), rows.integer(1));
        }
    });
}

Result<StoreGc> Store::gc() {
    const std::int64_t before = sizeOf(impl_->path);
    TS_ASSIGN(
        auto gone,
        impl_->write<StoreGc>(Durability::powerLoss, [](Connection& connection) -> Result<StoreGc> {
            const sqlite::Unhurried unhurried(connection);
            StoreGc removed;
            TS_ASSIGN(removed.models, removeUnused(connection, "model",
                                                   "SELECT model_id FROM run WHERE model_id IS NOT NULL"));
            TS_ASSIGN(removed.workloads,
                      removeUnused(connection, "workload", "SELECT workload_id FROM run_workload"));
            TS_ASSIGN(removed.targets, removeUnused(connection, "target",
                                                    "SELECT target_id FROM run WHERE target_id IS NOT NULL"));
            TS_ASSIGN(removed.machines, removeUnused(connection, "machine", "SELECT machine_id FROM target"));
            return removed;
        }));
    const Status compacted = impl_->writer->outsideTransaction([](Connection& connection) -> Status {
        const sqlite::Unhurried unhurried(connection);
        TS_TRY(connection.execute("VACUUM"));
        return connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    });
    if (!compacted.ok())
        return compacted.error();
    gone.bytesFreed = std::max<std::int64_t>(0, before - sizeOf(impl_->path));
    return gone;
}

} // namespace tunesmith
