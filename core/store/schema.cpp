// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/schema.h"

#include <algorithm>
#include <optional>

namespace tunesmith::schema {
namespace {

const char* const kVersion1 = R"sql(
CREATE TABLE machine(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE CHECK(key <> ''), cpu TEXT NOT NULL, isa TEXT NOT NULL,
    cores INTEGER NOT NULL CHECK(cores > 0), ceilings TEXT NOT NULL) STRICT;
CREATE TABLE target(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL CHECK(key <> ''), machine_id INTEGER NOT NULL REFERENCES machine(id),
    UNIQUE(key, machine_id)) STRICT;
CREATE INDEX target_machine ON target(machine_id);
CREATE TABLE model(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, path TEXT NOT NULL, hash TEXT NOT NULL CHECK(length(hash) = 16),
    UNIQUE(hash, path)) STRICT;
CREATE TABLE workload(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE CHECK(length(key) = 16), name TEXT NOT NULL, op TEXT NOT NULL,
    shape TEXT NOT NULL, graph BLOB NOT NULL, flops REAL NOT NULL CHECK(flops >= 0)) STRICT;
CREATE TABLE run(
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL CHECK(kind <> ''), model_id INTEGER REFERENCES model(id),
    target_id INTEGER REFERENCES target(id), strategy TEXT NOT NULL, seed INTEGER NOT NULL,
    options TEXT NOT NULL,
    state TEXT NOT NULL CHECK(state IN ('RUNNING', 'STOPPED', 'COMPLETED', 'FAILED')), stop_reason TEXT NOT NULL,
    started_at INTEGER NOT NULL, ended_at INTEGER CHECK(ended_at >= started_at), before_ms REAL, after_ms REAL,
    version TEXT NOT NULL, owner TEXT NOT NULL, resume TEXT NOT NULL,
    CHECK((state = 'RUNNING') = (ended_at IS NULL))) STRICT;
CREATE INDEX run_model ON run(model_id);
CREATE INDEX run_target ON run(target_id);
CREATE TABLE run_workload(
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, workload_id INTEGER NOT NULL REFERENCES workload(id),
    ordinal INTEGER NOT NULL, occurrences INTEGER NOT NULL CHECK(occurrences > 0), space TEXT NOT NULL,
    space_size REAL NOT NULL CHECK(space_size >= 0), budget INTEGER NOT NULL CHECK(budget >= 0),
    PRIMARY KEY(run_id, workload_id)) STRICT, WITHOUT ROWID;
CREATE INDEX run_workload_workload ON run_workload(workload_id);
CREATE TABLE run_state(
    id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, workload_id INTEGER NOT NULL,
    batch INTEGER NOT NULL CHECK(batch >= 0), next_idx INTEGER NOT NULL CHECK(next_idx >= 0),
    state TEXT NOT NULL, saved_at INTEGER NOT NULL, UNIQUE(run_id, workload_id),
    FOREIGN KEY(run_id, workload_id) REFERENCES run_workload(run_id, workload_id) ON DELETE CASCADE) STRICT;
CREATE TABLE trial(
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id INTEGER NOT NULL, workload_id INTEGER NOT NULL,
    batch INTEGER NOT NULL CHECK(batch >= 0), idx INTEGER NOT NULL CHECK(idx >= 0), config TEXT NOT NULL,
    config_hash INTEGER NOT NULL, effective TEXT, predicted REAL, status TEXT NOT NULL CHECK(status <> ''),
    detail TEXT NOT NULL, objectives TEXT NOT NULL, p5_ms REAL, build_s REAL NOT NULL,
    measured_at INTEGER NOT NULL, feature_version INTEGER NOT NULL,
    samples BLOB NOT NULL CHECK(length(samples) % 4 = 0),
    CHECK((status = 'ok') = (p5_ms IS NOT NULL)), CHECK(status <> 'ok' OR length(samples) > 0),
    FOREIGN KEY(run_id, workload_id) REFERENCES run_workload(run_id, workload_id) ON DELETE CASCADE) STRICT;
CREATE INDEX trial_run ON trial(run_id);
CREATE INDEX trial_pair ON trial(run_id, workload_id);
CREATE INDEX trial_workload ON trial(workload_id);
CREATE INDEX trial_fastest ON trial(workload_id, p5_ms) WHERE status = 'ok';
CREATE UNIQUE INDEX trial_sequence ON trial(run_id, workload_id, idx);
CREATE INDEX trial_config ON trial(workload_id, config_hash);
CREATE TABLE record(
    workload_id INTEGER NOT NULL REFERENCES workload(id), target_id INTEGER NOT NULL REFERENCES target(id),
    trial_id INTEGER NOT NULL REFERENCES trial(id), p5_ms REAL NOT NULL,
    PRIMARY KEY(workload_id, target_id)) STRICT, WITHOUT ROWID;
CREATE INDEX record_target ON record(target_id);
CREATE INDEX record_trial ON record(trial_id);
)sql";

// Finals: what a tuning ended with supersedes what was measured before.
const char* const kVersion2 =
    "ALTER TABLE trial ADD COLUMN final INTEGER NOT NULL DEFAULT 0 CHECK(final = 0 OR (final = 1 AND status = 'ok'))";

// Rules of substitution, which belong to no run.
const char* const kVersion3 = R"sql(
CREATE TABLE rule(
    id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE CHECK(text <> ''), name TEXT NOT NULL UNIQUE CHECK(name <> ''),
    origin TEXT NOT NULL, status TEXT NOT NULL CHECK(status IN ('untested', 'tested', 'proved', 'refuted')),
    trials INTEGER NOT NULL CHECK(trials >= 0), preconditions TEXT NOT NULL, counter_example TEXT NOT NULL,
    created_at INTEGER NOT NULL) STRICT;
)sql";

// What a rule's proof needs, or why there is none.
const char* const kVersion4 = R"sql(
ALTER TABLE rule ADD COLUMN proof_conditions TEXT NOT NULL DEFAULT '[]';
ALTER TABLE rule ADD COLUMN why_not_proved TEXT NOT NULL DEFAULT '';
)sql";

// Jobs that outlive the program, and what their stages did when.
const char* const kVersion5 = R"sql(
CREATE TABLE job(
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL CHECK(kind <> ''), name TEXT NOT NULL, what TEXT NOT NULL,
    priority INTEGER NOT NULL, state TEXT NOT NULL CHECK(state IN ('QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED')),
    wish TEXT NOT NULL CHECK(wish IN ('run', 'pause', 'cancel')), run_id INTEGER REFERENCES run(id) ON DELETE SET NULL,
    progress REAL NOT NULL CHECK(progress BETWEEN 0 AND 1), seconds REAL NOT NULL CHECK(seconds >= 0), detail TEXT NOT NULL,
    created_at INTEGER NOT NULL, ended_at INTEGER, owner TEXT NOT NULL,
    CHECK((state IN ('QUEUED', 'RUNNING')) = (ended_at IS NULL))) STRICT;
CREATE INDEX job_run ON job(run_id);
CREATE TABLE job_session(
    id INTEGER PRIMARY KEY AUTOINCREMENT, policy TEXT NOT NULL, resources TEXT NOT NULL, started_at INTEGER NOT NULL,
    ended_at INTEGER CHECK(ended_at >= started_at), version TEXT NOT NULL, owner TEXT NOT NULL) STRICT;
CREATE TABLE job_slice(
    id INTEGER PRIMARY KEY, session_id INTEGER NOT NULL REFERENCES job_session(id) ON DELETE CASCADE,
    job_id INTEGER NOT NULL REFERENCES job(id) ON DELETE CASCADE, stage TEXT NOT NULL CHECK(stage <> ''), uses TEXT NOT NULL,
    called_s REAL NOT NULL, begin_s REAL NOT NULL CHECK(begin_s >= called_s), end_s REAL NOT NULL CHECK(end_s >= begin_s),
    expected_s REAL NOT NULL) STRICT;
CREATE INDEX job_slice_session ON job_slice(session_id);
CREATE INDEX job_slice_job ON job_slice(job_id);
)sql";

// The store that a file is a copy of.
const char* const kVersion6 = R"sql(
CREATE TABLE origin(id TEXT NOT NULL CHECK(length(id) = 32)) STRICT;
INSERT INTO origin VALUES (lower(hex(randomblob(16))));
)sql";

const Migration kMigrations[] = {{1, kVersion1}, {2, kVersion2}, {3, kVersion3}, {4, kVersion4}, {5, kVersion5}, {6, kVersion6}};

Error notOurs(const std::string& path) {
    return inputError("the store " + path +
                      " is a database of another program; choose another file with --store");
}

Error newer(const std::string& path, std::int64_t version, int newest) {
    return inputError("the store " + path + " was written by a newer Tunesmith (store version " +
                      std::to_string(version) + ", this program knows " + std::to_string(newest) +
                      "); update Tunesmith or choose another file with --store");
}

} // namespace

std::span<const Migration> migrations() {
    return kMigrations;
}
int currentVersion() {
    return migrations().back().version;
}

namespace {

Result<Identity> identityNow(sqlite::Connection& connection, int newest) {
    TS_ASSIGN(const auto id, connection.number("PRAGMA application_id"));
    TS_ASSIGN(const auto version, connection.number("PRAGMA user_version"));
    TS_ASSIGN(const auto tables, connection.number("SELECT count(*) FROM sqlite_schema"));
    if (id == 0 && version == 0 && tables == 0)
        return Identity{true, 0};
    if (id != kApplicationId)
        return notOurs(connection.path());
    if (version > newest)
        return newer(connection.path(), version, newest);
    if (version < 1)
        return inputError(
            "the store " + connection.path() +
            " has an impossible version number; restore a copy or choose another file with --store");
    return Identity{false, static_cast<int>(version)};
}

} // namespace

Status migrate(sqlite::Connection& connection, std::span<const Migration> steps) {
    const int newest = steps.back().version;
    return connection.transaction("EXCLUSIVE", [&]() -> Status {
        TS_ASSIGN(const auto identity,
                  identityNow(connection, newest)); // again: another process may have been faster
        for (const Migration& step : steps)
            if (step.version > identity.version)
                TS_TRY(connection.execute(step.sql));
        TS_TRY(connection.execute("PRAGMA application_id = " + std::to_string(kApplicationId)));
        return connection.execute("PRAGMA user_version = " + std::to_string(newest));
    });
}

namespace {

// The tables that SQLite's ANALYZE makes are not counted: they decide nothing but how a query is carried out.
Result<std::vector<std::string>> objects(sqlite::Connection& connection) {
    TS_ASSIGN(auto statement, connection.prepare("SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema "
                                                 "WHERE coalesce(sql, '') NOT IN ('CREATE TABLE sqlite_stat1(tbl,idx,stat)', "
                                                 "'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)') ORDER BY 1"));
    std::vector<std::string> found;
    for (;;) {
        TS_ASSIGN(const bool row, statement.step());
        if (!row)
            return found;
        found.push_back(statement.text(0));
    }
}

Result<std::vector<std::string>> objectsOf(int version) {
    TS_ASSIGN(auto fresh, sqlite::Connection::openInMemory());
    TS_TRY(migrate(*fresh, migrations().first(static_cast<std::size_t>(version))));
    return objects(*fresh);
}

std::string nameOf(const std::string& object) { return object.substr(0, object.find(':')); }

} // namespace

Result<std::vector<std::string>> differences(sqlite::Connection& connection, int version) {
    TS_ASSIGN(const auto expected, objectsOf(version));
    TS_ASSIGN(const auto found, objects(connection));
    std::vector<std::string> sentences;
    for (const std::string& object : expected)
        if (!std::ranges::binary_search(found, object))
            sentences.push_back("missing or changed: " + nameOf(object));
    for (const std::string& object : found)
        if (!std::ranges::binary_search(expected, object))
            sentences.push_back("foreign or changed: " + nameOf(object));
    return sentences;
}

namespace {

Status requireExact(sqlite::Connection& connection, int version) {
    TS_ASSIGN(const auto differing, differences(connection, version));
    if (differing.empty())
        return {};
    return inputError("the store " + connection.path() + " is not laid out as Tunesmith does it (" + differing.front() +
                      "): it may come from somebody else, or another program has changed it; choose another file with --store, or undo that change");
}

} // namespace

// At one moment: another process may be making the tables.
Result<Identity> identify(sqlite::Connection& connection, int newest) {
    std::optional<Identity> found;
    TS_TRY(connection.transaction("DEFERRED", [&]() -> Status {
        TS_ASSIGN(found, identityNow(connection, newest));
        return found->empty ? Status() : requireExact(connection, found->version);
    }));
    return *found;
}

} // namespace tunesmith::schema
