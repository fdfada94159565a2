// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/foreign_store.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

#include "core/store/known_stores.h"
#include "core/store/owner.h"
#include "core/store/store.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;
using sqlite::Connection;

// A journal that ends so names a second one, which is deleted with it. It comes of transactions over several files; ours have one.
bool namesAnother(const fs::path& journal) {
    static constexpr std::array<unsigned char, 8> kMark{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    std::array<unsigned char, kMark.size()> end{};
    std::ifstream file(journal, std::ios::binary);
    file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
    file.read(reinterpret_cast<char*>(end.data()), static_cast<std::streamsize>(end.size()));
    return file.good() && end == kMark;
}

// Version 5 has no such table.
Result<bool> hasOrigin(Connection& connection) {
    TS_ASSIGN(const auto tables, connection.number("SELECT count(*) FROM sqlite_schema WHERE name = 'origin'"));
    return tables > 0;
}

Result<std::string> idOf(Connection& connection) {
    TS_ASSIGN(const bool known, hasOrigin(connection));
    if (!known)
        return std::string();
    TS_ASSIGN(auto row, connection.prepare("SELECT id FROM origin ORDER BY rowid"));
    TS_ASSIGN(const bool found, row.step());
    return found ? row.text(0) : std::string();
}

Result<bool> isMarked(Connection& connection, const std::string& mark) {
    TS_ASSIGN(const bool possible, hasOrigin(connection));
    if (!possible)
        return false;
    TS_ASSIGN(auto row, connection.prepare("SELECT 1 FROM origin WHERE id = ?"));
    row.bind(mark);
    return row.step();
}

// The part of an integrity check that takes a moment only: pages, cells, types of values, and, where the connection may write, the rules of
// the tables.
Status lookThrough(Connection& connection) {
    const sqlite::Unhurried unhurried(connection);
    TS_ASSIGN(auto row, connection.prepare("PRAGMA quick_check(1)"));
    TS_ASSIGN(const bool found, row.step());
    const std::string said = found ? row.text(0) : std::string();
    return said == "ok" ? Status() : Status(sqlite::damaged(connection.path(), said));
}

// A job whose program lives is in good hands.
Status pauseJobs(Connection& connection) {
    std::vector<std::int64_t> waiting;
    {
        TS_ASSIGN(auto rows, connection.prepare("SELECT id, owner FROM job WHERE state IN ('QUEUED', 'RUNNING')"));
        for (;;) {
            TS_ASSIGN(const bool row, rows.step());
            if (!row)
                break;
            if (!ownerAlive(rows.text(1)))
                waiting.push_back(rows.integer(0));
        }
    }
    for (const std::int64_t job : waiting) {
        TS_ASSIGN(auto pause, connection.prepare("UPDATE job SET wish = 'pause', detail = 'came with this store: resume it if it is to run' WHERE id = ?"));
        TS_TRY(pause.bind(job).run());
    }
    return {};
}

bool isDefaultStore(const std::string& path) {
    std::error_code error;
    const auto usual = defaultStorePath();
    return usual.ok() && fs::equivalent(path, *usual, error);
}

} // namespace

Status checkCompanions(const std::string& path) {
    std::error_code error;
    fs::path real = fs::weakly_canonical(path, error); // SQLite follows a link, too
    if (error)
        real = path;
    for (const std::string suffix : {"-wal", "-shm", "-journal"}) {
        const fs::path companion = real.string() + suffix;
        const auto type = fs::symlink_status(companion, error).type();
        // Only the journal may be opened: closing one of the others would take away the locks that this process has on it.
        if (type != fs::file_type::not_found && (type != fs::file_type::regular || (suffix == "-journal" && namesAnother(companion))))
            return inputError("the store " + path + " comes with " + companion.string() + ", which would change other files; remove that or choose another store with --store");
    }
    return {};
}

Status meetToRead(Connection& connection) {
    TS_ASSIGN(const bool met, isMarked(connection, storeMark(connection.path())));
    TS_ASSIGN(const std::string id, idOf(connection));
    if (met || wasLookedThrough(connection.path(), id))
        return {};
    TS_TRY(lookThrough(connection));
    rememberLookedThrough(connection.path(), id);
    return {};
}

// The mark and the pause are one commit: jobs are paused once in the life of a file, whatever becomes of this user's folders.
Status meetToWrite(Connection& connection) {
    const std::string mark = storeMark(connection.path());
    TS_ASSIGN(const bool met, isMarked(connection, mark));
    if (met)
        return {};
    TS_TRY(lookThrough(connection));
    return connection.transaction("IMMEDIATE", [&]() -> Status {
        TS_ASSIGN(const bool metMeanwhile, isMarked(connection, mark)); // whoever made it may have added jobs since
        if (metMeanwhile)
            return {};
        if (!isDefaultStore(connection.path()))
            TS_TRY(pauseJobs(connection));
        TS_ASSIGN(auto insert, connection.prepare("INSERT INTO origin VALUES (?)"));
        return insert.bind(mark).run();
    });
}

} // namespace tunesmith
