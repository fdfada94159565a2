// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/store.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/store/foreign_store.h"
#include "core/store/owner.h"
#include "core/store/schema.h"
#include "core/store/store_impl.h"

namespace tunesmith {
namespace {

namespace fs = std::filesystem;
using sqlite::Connection;
using sqlite::OpenFlags;

// Opening a pipe would wait for ever, and SQLite would create what is missing: look first.
Result<bool> fileExists(const std::string& path) {
    std::error_code code;
    const auto status = fs::status(path, code);
    if (status.type() == fs::file_type::not_found)
        return false;
    if (status.type() == fs::file_type::none)
        return ioError("the store " + path + " cannot be looked at (" + code.message() +
                       "); check the permissions of its folder, or choose another file with --store");
    if (status.type() != fs::file_type::regular)
        return inputError("the store " + path + " is not a regular file; choose another with --store");
    return true;
}

Status switchToWriteAheadLog(Connection& connection) {
    TS_ASSIGN(auto statement, connection.prepare("PRAGMA journal_mode = WAL"));
    TS_ASSIGN(const bool row, statement.step());
    if (row && statement.text(0) == "wal")
        return {};
    return ioError("the store " + connection.path() +
                   " is on a file system without shared memory files; "
                   "choose a file on a local disk with --store");
}

// SQLite does not wait for those who do the same at this moment.
Status useWriteAheadLog(Connection& connection, int patienceMs) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patienceMs);
    Status status = switchToWriteAheadLog(connection);
    while (!status.ok() && status.error().kind == ErrorKind::timeout && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        status = switchToWriteAheadLog(connection);
    }
    return status;
}

// SQLite names the log after the store: programs that come by several names have several logs, and each writes over what the others wrote.
Status requireOneName(const std::string& path) {
    std::error_code error;
    const std::uintmax_t names = fs::hard_link_count(path, error);
    if (error || names <= 1) // one that is to be made has none yet
        return {};
    return inputError("the store " + path + " has " + std::to_string(names) +
                      " names (hard links), and programs that use different ones would lose trials; copy it, and write to the copy with --store");
}

Result<std::unique_ptr<Connection>> openForWriting(const std::string& path, const StoreOptions& options) {
    TS_TRY(checkCompanions(path));
    TS_TRY(requireOneName(path));
    TS_ASSIGN(auto connection, Connection::open(path, {true, true, false, options.busyTimeoutMs}));
    if (connection->readOnly())
        return ioError("the store " + path +
                       " is not writable; change the permissions of the file and its folder, "
                       "or choose another file with --store");
    TS_ASSIGN(const auto identity, schema::identify(*connection, schema::currentVersion()));
    if (identity.empty)
        TS_TRY(connection->execute(
            "PRAGMA page_size = 4096; PRAGMA auto_vacuum = NONE; PRAGMA encoding = 'UTF-8'"));
    if (options.maxPages > 0)
        TS_TRY(connection->execute("PRAGMA max_page_count = " + std::to_string(options.maxPages)));
    if (identity.version < schema::currentVersion()) {
        const sqlite::Unhurried unhurried(*connection);
        TS_TRY(schema::migrate(*connection, schema::migrations()));
    }
    TS_TRY(useWriteAheadLog(*connection, options.busyTimeoutMs));
    TS_TRY(meetToWrite(*connection));
    TS_TRY(connection->execute("PRAGMA journal_size_limit = 67108864"));
    return connection;
}

// Readers want tables that they know: a store without them, of an earlier version of the program, is brought up first.
Status checkReadable(Connection& connection, const StoreOptions& options) {
    TS_ASSIGN(const auto identity, schema::identify(connection, schema::currentVersion()));
    if (identity.empty)
        return inputError("the store " + connection.path() +
                          " is empty; tune a model or keep rules in it first, or choose another file with --store");
    if (identity.version >= schema::kOldestReadable)
        return options.toCheck ? Status() : meetToRead(connection);
    const auto upgraded = openForWriting(connection.path(), options);
    if (!upgraded.ok())
        return inputError("the store " + connection.path() + " is of an older version and cannot be upgraded: " + upgraded.error().message);
    return {};
}

// In a folder without write permission SQLite cannot make the log's files. If there is no log either, nobody
// can be writing, and the file can be read as an unchanging one.
Result<OpenFlags> readableWith(const std::string& path, const StoreOptions& options) {
    OpenFlags flags{false, false, false, options.busyTimeoutMs};
    TS_TRY(checkCompanions(path));
    const auto attempt = [&]() -> Status {
        TS_ASSIGN(auto connection, Connection::open(path, flags));
        return checkReadable(*connection, options);
    };
    Status status = attempt();
    std::error_code code;
    if (!status.ok() && status.error().kind == ErrorKind::io && !fs::exists(path + "-wal", code)) {
        flags.immutable = true;
        status = attempt();
    }
    if (!status.ok())
        return status.error();
    return flags;
}

} // namespace

Store::Impl::Impl(std::string storePath, StoreMode storeMode, const OpenFlags& readFlags)
    : path(std::move(storePath)), open(path), hand(path), mode(storeMode), owner(currentOwner()), readers(path, readFlags) {}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
const std::string& Store::path() const {
    return impl_->path;
}
StoreMode Store::mode() const {
    return impl_->mode;
}

Result<std::shared_ptr<Store>> Store::open(const std::string& path, StoreMode mode,
                                           const StoreOptions& options) {
    TS_ASSIGN(const bool exists, fileExists(path));
    if (mode == StoreMode::readOnly) {
        if (!exists)
            return inputError("there is no store at " + path +
                              " yet; tune a model or keep rules in it first, or name another file with --store");
        TS_ASSIGN(const auto flags, readableWith(path, options));
        return std::shared_ptr<Store>(new Store(std::make_unique<Impl>(path, mode, flags)));
    }
    auto impl = std::make_unique<Impl>(path, mode, OpenFlags{false, false, false, options.busyTimeoutMs});
    auto connection = openForWriting(path, options);
    if (!connection.ok()) {
        std::error_code code;
        if (!exists && fs::is_regular_file(path, code) && fs::file_size(path, code) == 0)
            fs::remove(path, code); // nothing half-written remains
        return connection.error();
    }
    impl->writer = std::make_unique<StoreWriter>(std::move(connection).value());
    return std::shared_ptr<Store>(new Store(std::move(impl)));
}

Result<std::string> defaultStorePath() {
    const char* data = std::getenv("XDG_DATA_HOME");
    const char* home = std::getenv("HOME");
    fs::path folder;
    if (data && fs::path(data).is_absolute()) // the XDG rules say that a relative path is to be ignored
        folder = data;
    else if (home && *home)
        folder = fs::path(home) / ".local" / "share";
    else
        return inputError(
            "there is no home folder to keep the store in; set HOME or name a file with --store");
    folder /= "tunesmith";
    std::error_code code;
    fs::create_directories(folder, code);
    if (code)
        return ioError("the folder " + folder.string() + " for the store cannot be created (" +
                       code.message() + "); change its permissions or name a file with --store");
    return (folder / "tunesmith.db").string();
}

} // namespace tunesmith
