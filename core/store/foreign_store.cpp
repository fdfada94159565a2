// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/foreign_store.h"

#include <array>
#include <filesystem>
#include <fstream>

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

Result<std::string> idOf(Connection& connection) {
    TS_ASSIGN(auto row, connection.prepare("SELECT id FROM origin"));
    TS_ASSIGN(const bool found, row.step());
    return found ? row.text(0) : std::string();
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

Status pauseJobs(Connection& connection) {
    return connection.execute("UPDATE job SET wish = 'pause', detail = 'came with this store: resume it if it is to run' WHERE state IN ('QUEUED', 'RUNNING')");
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
    TS_ASSIGN(const std::string id, idOf(connection));
    if (acquaintanceWith(connection.path(), id) != Acquaintance::none)
        return {};
    TS_TRY(lookThrough(connection));
    rememberStore(connection.path(), id, Acquaintance::checked);
    return {};
}

Status meetToWrite(Connection& connection) {
    TS_ASSIGN(const std::string id, idOf(connection));
    if (acquaintanceWith(connection.path(), id) == Acquaintance::own)
        return {};
    TS_TRY(lookThrough(connection));
    TS_TRY(connection.transaction("IMMEDIATE", [&]() -> Status {
        const bool metMeanwhile = acquaintanceWith(connection.path(), id) == Acquaintance::own; // whoever made it may have added jobs since
        return metMeanwhile ? Status() : pauseJobs(connection);
    }));
    rememberStore(connection.path(), id, Acquaintance::own);
    return {};
}

Status rememberNew(Connection& connection) {
    TS_ASSIGN(const std::string id, idOf(connection));
    rememberStore(connection.path(), id, Acquaintance::own);
    return {};
}

} // namespace tunesmith
