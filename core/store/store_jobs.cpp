// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/store/encoding.h"
#include "core/store/job_seal.h"
#include "core/store/owner.h"
#include "core/store/store_impl.h"

// Jobs, which outlive the programs that run them.
namespace tunesmith {

const char* jobStateName(JobState state) {
    switch (state) {
    case JobState::queued:
        return "QUEUED";
    case JobState::running:
        return "RUNNING";
    case JobState::done:
        return "DONE";
    case JobState::failed:
        return "FAILED";
    case JobState::cancelled:
        return "CANCELLED";
    }
    return "";
}

const char* jobWishName(JobWish wish) { return wish == JobWish::pause ? "pause" : wish == JobWish::cancel ? "cancel" : "run"; }

namespace {

using sqlite::Connection;
using sqlite::Statement;

JobState stateOf(const std::string& name) {
    for (const auto state : {JobState::queued, JobState::running, JobState::done, JobState::failed})
        if (name == jobStateName(state))
            return state;
    return JobState::cancelled;
}

JobWish wishOf(const std::string& name) {
    for (const auto wish : {JobWish::pause, JobWish::cancel})
        if (name == jobWishName(wish))
            return wish;
    return JobWish::run;
}

constexpr const char* kColumns = "SELECT id, kind, name, what, priority, state, wish, run_id, progress, seconds, detail, created_at, ended_at, owner FROM job ";

JobRow jobOf(Statement& row) {
    JobRow job;
    job.id = StoredJobId(row.integer(0));
    job.kind = row.text(1);
    job.name = row.text(2);
    job.what = row.text(3);
    job.priority = row.smallInteger(4);
    job.state = stateOf(row.text(5));
    job.wish = wishOf(row.text(6));
    job.run = optionalId<RunTag>(row, 7);
    job.progress = std::clamp(row.real(8), 0.0, 1.0); // a file may say anything
    job.seconds = row.real(9);
    job.detail = row.text(10);
    job.createdAt = row.integer(11);
    if (!row.isNull(12))
        job.endedAt = row.integer(12);
    job.interrupted = job.state == JobState::running && !ownerAlive(row.text(13));
    return job;
}

Error unknownJob(const Connection& connection, StoredJobId job) {
    return inputError("the store " + connection.path() + " has no job " + std::to_string(job.value()) + "; list the jobs to see which there are");
}

struct JobLife {
    JobState state = JobState::queued;
    std::string owner;
    bool ended() const { return state != JobState::queued && state != JobState::running; }
    bool heldBy(const std::string& who) const { return state == JobState::running && owner == who; }
    bool held() const { return state == JobState::running && ownerAlive(owner); }
};

Result<std::optional<JobLife>> findLife(Connection& connection, StoredJobId job) {
    TS_ASSIGN(auto row, connection.prepare("SELECT state, owner FROM job WHERE id = ?"));
    row.bind(job.value());
    TS_ASSIGN(const bool found, row.step());
    return found ? std::optional(JobLife{stateOf(row.text(0)), row.text(1)}) : std::nullopt;
}

Result<JobLife> lifeOf(Connection& connection, StoredJobId job) {
    TS_ASSIGN(std::optional<JobLife> life, findLife(connection, job));
    return life ? Result<JobLife>(std::move(*life)) : Result<JobLife>(unknownJob(connection, job));
}

Status requireOwnJob(Connection& connection, StoredJobId job, const std::string& owner) {
    TS_ASSIGN(const JobLife life, lifeOf(connection, job));
    if (life.heldBy(owner))
        return {};
    return inputError("job " + std::to_string(job.value()) + " in the store " + connection.path() + " does not belong to this process; it ended or was taken by another");
}

Result<StoredJobId> insertJob(Connection& connection, const JobRow& job) {
    TS_TRY(encoding::requireJson(job.what, "what a job is to do"));
    TS_ASSIGN(auto insert, connection.prepare("INSERT INTO job(kind, name, what, priority, state, wish, run_id, progress, seconds, detail, created_at, owner) "
                                              "VALUES (?, ?, ?, ?, 'QUEUED', ?, ?, ?, ?, '', ?, '')"));
    insert.bind(job.kind).bind(job.name).bind(job.what).bind(job.priority).bind(jobWishName(job.wish)).bind(optionalNumber(job.run));
    TS_TRY(insert.bind(job.progress).bind(job.seconds).bind(job.createdAt ? job.createdAt : millisecondsSince1970()).run());
    const StoredJobId added(connection.lastRowId());
    if (job.wish == JobWish::run)
        TS_TRY(sealJob(connection, added));
    return added;
}

Status setState(Connection& connection, StoredJobId job, JobState state, const std::string& detail, const std::string& owner) {
    const bool ended = state != JobState::queued && state != JobState::running;
    if (ended)
        TS_TRY(breakSeal(connection, job));
    TS_ASSIGN(auto update, connection.prepare("UPDATE job SET state = ?, detail = ?, ended_at = ?, owner = ?, progress = CASE WHEN ?1 = 'DONE' THEN 1 ELSE progress END WHERE id = ?"));
    update.bind(jobStateName(state)).bind(detail).bind(ended ? std::optional(millisecondsSince1970()) : std::nullopt);
    return update.bind(owner).bind(job.value()).run();
}

Result<JobRow> rowOf(Connection& connection, StoredJobId job) {
    TS_ASSIGN(auto row, connection.prepare(std::string(kColumns) + "WHERE id = ?"));
    row.bind(job.value());
    TS_ASSIGN(const bool found, row.step());
    return found ? Result<JobRow>(jobOf(row)) : Result<JobRow>(unknownJob(connection, job));
}

Status changeOne(Connection& connection, Statement& update, StoredJobId job) {
    TS_TRY(update.run());
    return connection.changes() == 1 ? Status() : Status(unknownJob(connection, job));
}

JobSessionRow sessionOf(Statement& row) {
    JobSessionRow session{JobSessionId(row.integer(0)), row.text(1), row.text(2), row.integer(3), {}, row.text(5)};
    if (!row.isNull(4))
        session.endedAt = row.integer(4);
    session.interrupted = !session.endedAt && !ownerAlive(row.text(6));
    session.slices = row.integer(7);
    session.jobs = row.integer(8);
    session.lastEnd = row.real(9);
    return session;
}

JobSliceRow sliceOf(Statement& row) {
    return {StoredJobId(row.integer(0)), row.text(1), row.text(2), row.real(3), row.real(4), row.real(5), row.real(6), row.integer(7)};
}

} // namespace

Result<std::vector<StoredJobId>> Store::addJobs(const std::vector<JobRow>& jobs) {
    return impl_->write<std::vector<StoredJobId>>(Durability::powerLoss, [&](Connection& connection) -> Result<std::vector<StoredJobId>> {
        std::vector<StoredJobId> ids;
        for (const JobRow& job : jobs) {
            TS_ASSIGN(const StoredJobId id, insertJob(connection, job));
            ids.push_back(id);
        }
        return ids;
    });
}

Result<std::vector<JobRow>> Store::jobs() const {
    return impl_->read<std::vector<JobRow>>([](Connection& connection) -> Result<std::vector<JobRow>> {
        TS_ASSIGN(auto rows, connection.prepare(std::string(kColumns) + "ORDER BY id"));
        return allRows(rows, &jobOf);
    });
}

Result<JobRow> Store::job(StoredJobId job) const {
    return impl_->read<JobRow>([&](Connection& connection) { return rowOf(connection, job); });
}

Result<std::optional<JobRow>> Store::takeJob(StoredJobId job) {
    using Taken = std::optional<JobRow>;
    return impl_->write<Taken>(Durability::powerLoss, [&](Connection& connection) -> Result<Taken> {
        TS_ASSIGN(const std::optional<JobLife> life, findLife(connection, job));
        if (!life || life->ended() || life->held())
            return Taken();
        TS_ASSIGN(const bool sealed, requireSeal(connection, job));
        if (!sealed)
            return Taken();
        TS_TRY(setState(connection, job, JobState::running, "", impl_->owner));
        TS_ASSIGN(JobRow row, rowOf(connection, job));
        return Taken(std::move(row));
    });
}

Status Store::saveJob(StoredJobId job, const JobProgress& progress) {
    return impl_->change(Durability::processDeath, [&](Connection& connection) -> Status {
        TS_TRY(requireOwnJob(connection, job, impl_->owner));
        TS_ASSIGN(auto update, connection.prepare("UPDATE job SET run_id = coalesce(?, run_id), progress = ?, seconds = ? WHERE id = ?"));
        return update.bind(optionalNumber(progress.run)).bind(progress.progress).bind(progress.seconds).bind(job.value()).run();
    });
}

Status Store::endJob(StoredJobId job, JobState state, const std::string& detail) {
    if (state == JobState::running)
        return internalError("a job cannot end as RUNNING");
    return impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_TRY(requireOwnJob(connection, job, impl_->owner));
        return setState(connection, job, state, detail, "");
    });
}

Status Store::wishJob(StoredJobId job, JobWish wish) {
    return impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_ASSIGN(const JobLife life, lifeOf(connection, job));
        if (life.state == JobState::done)
            return inputError("job " + std::to_string(job.value()) + " in the store " + connection.path() + " is done; add it again to run it again");
        if (wish == JobWish::cancel && !life.held())
            TS_TRY(setState(connection, job, JobState::cancelled, "", ""));
        if (wish != JobWish::cancel && life.ended())
            TS_TRY(setState(connection, job, JobState::queued, "", ""));
        TS_TRY(breakSeal(connection, job));
        if (wish == JobWish::run)
            TS_TRY(sealJob(connection, job));
        TS_ASSIGN(auto update, connection.prepare("UPDATE job SET wish = ?1, detail = CASE ?1 WHEN 'run' THEN '' ELSE detail END WHERE id = ?2"));
        return update.bind(jobWishName(wish)).bind(job.value()).run();
    });
}

Status Store::setJobPriority(StoredJobId job, int priority) {
    return impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_ASSIGN(auto update, connection.prepare("UPDATE job SET priority = ? WHERE id = ?"));
        update.bind(priority).bind(job.value());
        return changeOne(connection, update, job);
    });
}

Status Store::removeJob(StoredJobId job) {
    return impl_->change(Durability::powerLoss, [&](Connection& connection) -> Status {
        TS_ASSIGN(const JobLife life, lifeOf(connection, job));
        if (life.held())
            return inputError("job " + std::to_string(job.value()) + " in the store " + connection.path() + " is running; cancel it first");
        TS_TRY(breakSeal(connection, job));
        return connection.execute("DELETE FROM job WHERE id = " + std::to_string(job.value()));
    });
}

Result<JobSessionId> Store::beginJobSession(const JobSessionRow& session) {
    TS_TRY(encoding::requireJson(session.resources, "the resources of a session of jobs"));
    return impl_->write<JobSessionId>(Durability::processDeath, [&](Connection& connection) -> Result<JobSessionId> {
        TS_ASSIGN(auto insert, connection.prepare("INSERT INTO job_session(policy, resources, started_at, version, owner) VALUES (?, ?, ?, ?, ?)"));
        insert.bind(session.policy).bind(session.resources).bind(session.startedAt ? session.startedAt : millisecondsSince1970());
        TS_TRY(insert.bind(session.version).bind(impl_->owner).run());
        return JobSessionId(connection.lastRowId());
    });
}

Status Store::endJobSession(JobSessionId session) {
    return impl_->change(Durability::processDeath, [&](Connection& connection) -> Status {
        TS_ASSIGN(auto update, connection.prepare("UPDATE job_session SET ended_at = max(?, started_at) WHERE id = ?"));
        return update.bind(millisecondsSince1970()).bind(session.value()).run();
    });
}

Status Store::addJobSlices(JobSessionId session, const std::vector<JobSliceRow>& slices) {
    return impl_->change(Durability::processDeath, [&](Connection& connection) -> Status {
        for (const JobSliceRow& slice : slices) {
            TS_TRY(encoding::requireJson(slice.uses, "what a stage uses"));
            TS_ASSIGN(auto insert, connection.prepare("INSERT INTO job_slice(session_id, job_id, stage, uses, called_s, begin_s, end_s, expected_s) "
                                                      "SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8 FROM job WHERE id = ?2")); // none if it was removed
            insert.bind(session.value()).bind(slice.job.value()).bind(slice.stage).bind(slice.uses);
            TS_TRY(insert.bind(slice.called).bind(slice.begin).bind(slice.end).bind(slice.expected).run());
        }
        return {};
    });
}

Result<std::vector<JobSessionRow>> Store::jobSessions() const {
    return impl_->read<std::vector<JobSessionRow>>([](Connection& connection) -> Result<std::vector<JobSessionRow>> {
        TS_ASSIGN(auto rows, connection.prepare("SELECT s.id, policy, resources, started_at, ended_at, version, owner, count(l.id), count(DISTINCT l.job_id), coalesce(max(l.end_s), 0) "
                                                "FROM job_session s LEFT JOIN job_slice l ON l.session_id = s.id GROUP BY s.id ORDER BY s.id DESC"));
        return allRows(rows, &sessionOf);
    });
}

Result<JobSessionRow> Store::jobSession(JobSessionId session) const {
    return impl_->read<JobSessionRow>([&](Connection& connection) -> Result<JobSessionRow> {
        TS_ASSIGN(auto row, connection.prepare("SELECT id, policy, resources, started_at, ended_at, version, owner, 0, 0, 0 FROM job_session WHERE id = ?"));
        row.bind(session.value());
        TS_ASSIGN(const bool found, row.step());
        if (!found)
            return inputError("the store " + connection.path() + " has no session " + std::to_string(session.value()) + " of jobs; `jobs sessions` lists them");
        return sessionOf(row);
    });
}

Result<std::vector<JobSliceRow>> Store::jobSlices(JobSessionId session, std::int64_t after, std::int64_t most) const {
    return impl_->read<std::vector<JobSliceRow>>([&](Connection& connection) -> Result<std::vector<JobSliceRow>> {
        TS_ASSIGN(auto rows, connection.prepare("SELECT job_id, stage, uses, called_s, begin_s, end_s, expected_s, id FROM job_slice WHERE session_id = ? AND id > ? ORDER BY id LIMIT ?"));
        rows.bind(session.value()).bind(after).bind(most);
        return allRows(rows, &sliceOf);
    });
}

} // namespace tunesmith
