// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "core/store/sqlite.h"
#include "tests/core/store/store_samples.h"

// The other process of the store's tests:
//   store_child trials FILE   adds trials for ever, prints "run workload index id" of each one when it is
//   reported store_child hold FILE     takes the write lock, prints "held", keeps it until killed store_child
//   sleep FILE    begins a run, prints its number, does nothing more until killed
//   locks FILE    prints whether somebody has the lock on the store, without which another process may throw its log away, and that on the log's index, without which
//   it may cut it
//   job FILE      takes the first job, prints "taken", does nothing more until killed
using namespace tunesmith;

namespace {

void say(const std::string& line) {
    const std::string text = line + "\n";
    if (::write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        ::_exit(3);
}

int fail(const Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 1;
}

// Goes on with the run that the last child left behind, or begins one.
Result<RunId> someRun(Store& store) {
    TS_ASSIGN(const auto runs, store.runs());
    if (runs.empty() || !runs.front().interrupted)
        return samples::beginRun(store, 2);
    TS_TRY(store.resumeRun(runs.front().id));
    return runs.front().id;
}

Result<std::int64_t> nextIndex(Store& store, RunId run, int workload) {
    TS_ASSIGN(const auto curve, store.curve(run, samples::key(workload)));
    return curve.empty() ? 0 : curve.back().index + 1;
}

Status addTrials(Store& store) {
    TS_ASSIGN(auto run, someRun(store));
    for (int turn = 0;; ++turn) {
        const int workload = turn % 2;
        TS_ASSIGN(const auto index, nextIndex(store, run, workload));
        const auto trial = samples::trial(run, workload, index);
        const RunStateRow state{run, trial.workload, trial.batch, index + 1, "{\"rng\":[1,2]}"};
        TS_ASSIGN(const auto id, store.addTrial(trial, index % 8 == 7 ? &state : nullptr));
        say(std::to_string(run.value()) + " " + std::to_string(workload) + " " + std::to_string(index) + " " +
            std::to_string(id.value()));
        if (index == 150) {
            TS_TRY(store.endRun(run, {RunState::completed, "budget", 2.0, 1.0}));
            TS_ASSIGN(run, samples::beginRun(store, 2));
        }
    }
}

Status takeFirstJob(Store& store) {
    TS_ASSIGN(const auto jobs, store.jobs());
    TS_ASSIGN(const auto taken, store.takeJob(jobs.at(0).id));
    return taken ? store.saveJob(jobs[0].id, {{}, 0.125, 1}) : Status(internalError("somebody has the job"));
}

int hold(const std::string& path) {
    auto connection = sqlite::Connection::open(path, {true, false, false, 5000});
    if (!connection.ok())
        return fail(connection.error());
    if (const auto locked = connection.value()->execute("BEGIN IMMEDIATE"); !locked.ok())
        return fail(locked.error());
    say("held");
    ::sleep(100);
    return 0;
}

// Who asks for such a lock is told whose it is.
bool isFree(const std::string& path, off_t byte) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_start = byte;
    lock.l_len = 1;
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    return file < 0 || ::fcntl(file, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK;
}

int tellLocks(const std::string& path) {
    constexpr off_t kFirstShared = 0x40000002, kDeadManSwitch = 128; // as SQLite has them
    say(std::string(isFree(path, kFirstShared) ? "free" : "held") + (isFree(path + "-shm", kDeadManSwitch) ? " free" : " held"));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    const std::string verb = argv[1];
    if (verb == "hold")
        return hold(argv[2]);
    if (verb == "locks")
        return tellLocks(argv[2]);
    auto store = Store::open(argv[2]);
    if (!store.ok())
        return fail(store.error());
    if (verb == "job") {
        const auto status = takeFirstJob(**store);
        if (!status.ok())
            return fail(status.error());
        say("taken");
        ::sleep(100);
        return 0;
    }
    if (verb == "trials") {
        const auto status = addTrials(**store);
        return status.ok() ? 0 : fail(status.error());
    }
    const auto run = samples::beginRun(**store);
    if (!run.ok())
        return fail(run.error());
    say(std::to_string(run.value().value()));
    ::sleep(100);
    return 0;
}
