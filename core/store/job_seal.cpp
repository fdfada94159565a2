// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/job_seal.h"

#include <unordered_set>
#include <vector>

#include "core/store/known_stores.h"
#include "core/store/owner.h"

namespace tunesmith {
namespace {

using sqlite::Connection;
using sqlite::Statement;

// Of a row that begins with id, kind, name, what.
std::string sealOf(const StoreMarks& marks, const Statement& row) { return marks.of({"job", row.text(0), row.text(1), row.text(2), row.text(3)}); }

// "" of a job that is not there.
Result<std::string> sealOf(Connection& connection, StoredJobId job) {
    TS_ASSIGN(auto row, connection.prepare("SELECT id, kind, name, what FROM job WHERE id = ?"));
    row.bind(job.value());
    TS_ASSIGN(const bool found, row.step());
    return found ? sealOf(StoreMarks(connection.path()), row) : std::string();
}

struct Waiting {
    StoredJobId job;
    std::string seal;
};

Result<std::vector<Waiting>> waitingJobs(Connection& connection) {
    const StoreMarks marks(connection.path());
    std::vector<Waiting> waiting;
    TS_ASSIGN(auto rows, connection.prepare("SELECT id, kind, name, what, owner FROM job WHERE state IN ('QUEUED', 'RUNNING') AND wish = 'run'"));
    for (;;) {
        TS_ASSIGN(const bool row, rows.step());
        if (!row)
            return waiting;
        if (!ownerAlive(rows.text(4)))
            waiting.push_back({StoredJobId(rows.integer(0)), sealOf(marks, rows)});
    }
}

Result<std::vector<Waiting>> unsealedJobs(Connection& connection) {
    TS_ASSIGN(std::vector<Waiting> waiting, waitingJobs(connection));
    if (waiting.empty())
        return waiting;
    std::unordered_set<std::string> seals;
    TS_ASSIGN(auto rows, connection.prepare("SELECT id FROM origin"));
    for (;;) {
        TS_ASSIGN(const bool row, rows.step());
        if (!row)
            break;
        seals.insert(rows.text(0));
    }
    std::erase_if(waiting, [&](const Waiting& each) { return seals.contains(each.seal); });
    return waiting;
}

Status pause(Connection& connection, StoredJobId job) {
    TS_ASSIGN(auto update, connection.prepare("UPDATE job SET wish = 'pause', detail = 'came with this store: resume it if it is to run' WHERE id = ? AND wish = 'run'"));
    return update.bind(job.value()).run();
}

} // namespace

Status breakSeal(Connection& connection, StoredJobId job) {
    TS_ASSIGN(const std::string seal, sealOf(connection, job));
    TS_ASSIGN(auto remove, connection.prepare("DELETE FROM origin WHERE id = ?"));
    return remove.bind(seal).run();
}

Status sealJob(Connection& connection, StoredJobId job) {
    TS_ASSIGN(const std::string seal, sealOf(connection, job));
    TS_ASSIGN(auto insert, connection.prepare("INSERT INTO origin VALUES (?)"));
    return insert.bind(seal).run();
}

Result<bool> requireSeal(Connection& connection, StoredJobId job) {
    TS_ASSIGN(const std::string seal, sealOf(connection, job));
    TS_ASSIGN(auto row, connection.prepare("SELECT 1 FROM origin WHERE id = ?"));
    row.bind(seal);
    TS_ASSIGN(const bool sealed, row.step());
    if (!sealed)
        TS_TRY(pause(connection, job));
    return sealed;
}

// Most stores have no such job, and are not locked for that.
Status pauseUnsealed(Connection& connection) {
    TS_ASSIGN(const auto seen, unsealedJobs(connection));
    if (seen.empty())
        return {};
    return connection.transaction("IMMEDIATE", [&]() -> Status {
        TS_ASSIGN(const auto unsealed, unsealedJobs(connection));
        for (const Waiting& each : unsealed)
            TS_TRY(pause(connection, each.job));
        return {};
    });
}

} // namespace tunesmith
