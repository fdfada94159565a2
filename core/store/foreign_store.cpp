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
bool namesAnother(std::ifstream& journal) {
    static constexpr std::array<unsigned char, 8> kMark{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    std::array<unsigned char, kMark.size()> end{};
    journal.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
    journal.read(reinterpret_cast<char*>(end.data()), static_cast<std::streamsize>(end.size()));
    return journal.good() && end == kMark;
}

// A journal tells how long its store was, and SQLite makes it so long again. What a transaction has cut off, the journal holds.
bool makesLonger(std::ifstream& journal, std::uintmax_t journalBytes, std::uintmax_t storeBytes) {
    constexpr std::size_t kPages = 16, kPageSize = 24, kHead = 28;
    constexpr std::uintmax_t kLargestPage = 65536;
    std::array<unsigned char, kHead> head{};
    if (!journal.seekg(0) || !journal.read(reinterpret_cast<char*>(head.data()), kHead))
        return false; // SQLite wants a whole head, too
    const auto number = [&](std::size_t at) { return std::uintmax_t(head[at]) << 24 | std::uintmax_t(head[at + 1]) << 16 | std::uintmax_t(head[at + 2]) << 8 | std::uintmax_t(head[at + 3]); };
    const std::uintmax_t pageSize = number(kPageSize) > 0 ? number(kPageSize) : kLargestPage;
    return number(kPages) * pageSize > storeBytes + journalBytes;
}

// Empty: nothing. Only the journal may be opened: closing one of the others would take away the locks that this process has on it.
std::string harmOf(const fs::path& companion, const fs::path& store) {
    constexpr const char* kChanges = "would change other files";
    std::error_code error;
    const auto type = fs::symlink_status(companion, error).type();
    if (type == fs::file_type::not_found)
        return {};
    const std::uintmax_t names = fs::hard_link_count(companion, error);
    if (type != fs::file_type::regular || (!error && names > 1)) // it may have gone meanwhile
        return kChanges;
    if (!companion.string().ends_with("-journal"))
        return {};
    const std::uintmax_t storeBytes = fs::file_size(store, error), bytes = error ? 0 : storeBytes, journalBytes = fs::file_size(companion, error);
    std::ifstream journal(companion, std::ios::binary);
    if (namesAnother(journal))
        return kChanges;
    journal.clear();
    return !error && makesLonger(journal, journalBytes, bytes) ? "would make it longer than it ever was" : "";
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
        if (const std::string harm = harmOf(companion, real); !harm.empty())
            return inputError("the store " + path + " comes with " + companion.string() + ", which " + harm + "; remove that or choose another store with --store");
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
    return pauseUnsealed(connection);
}

} // namespace tunesmith
