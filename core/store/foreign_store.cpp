// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/foreign_store.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "core/store/job_seal.h"
#include "core/store/known_stores.h"

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
    TS_ASSIGN(const bool met, isMarked(connection, StoreMarks(connection.path()).met()));
    TS_ASSIGN(const std::string id, idOf(connection));
    if (met || wasLookedThrough(connection.path(), id))
        return {};
    TS_TRY(lookThrough(connection));
    rememberLookedThrough(connection.path(), id);
    return {};
}

Status meetToWrite(Connection& connection) {
    const std::string mark = StoreMarks(connection.path()).met();
    TS_ASSIGN(const bool met, isMarked(connection, mark));
    if (!met) {
        TS_TRY(lookThrough(connection));
        TS_TRY(connection.transaction("IMMEDIATE", [&]() -> Status {
            TS_ASSIGN(auto insert, connection.prepare("INSERT INTO origin SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM origin WHERE id = ?1)")); // another program may be meeting it, too
            return insert.bind(mark).run();
        }));
    }
    if (!isDefaultStore(connection.path()) || wasDefaultStoreMet())
        return pauseUnsealed(connection);
    TS_TRY(sealWaiting(connection));
    rememberDefaultStore();
    return {};
}

} // namespace tunesmith
