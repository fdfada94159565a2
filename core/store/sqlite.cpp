// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/store/sqlite.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sqlite3.h>
#include <unistd.h>

namespace tunesmith::sqlite {

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), handle_(std::exchange(other.handle_, nullptr)),
      parameter_(other.parameter_), bindError_(other.bindError_) {}

Statement::~Statement() {
    if (!handle_)
        return;
    sqlite3_reset(handle_);
    sqlite3_clear_bindings(handle_);
}

Statement& Statement::bound(int code) {
    if (code != SQLITE_OK && bindError_ == SQLITE_OK)
        bindError_ = code;
    return *this;
}

Statement& Statement::bind(std::int64_t value) {
    return bound(sqlite3_bind_int64(handle_, ++parameter_, value));
}
Statement& Statement::bind(double value) {
    return bound(sqlite3_bind_double(handle_, ++parameter_, value));
}
Statement& Statement::bindNull() {
    return bound(sqlite3_bind_null(handle_, ++parameter_));
}

Statement& Statement::bind(std::string_view text) {
    const char* data = text.data() ? text.data() : "";
    return bound(
        sqlite3_bind_text64(handle_, ++parameter_, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

Statement& Statement::bindBlob(std::span<const std::uint8_t> bytes) {
    if (bytes.empty())
        return bound(sqlite3_bind_zeroblob(handle_, ++parameter_, 0));
    return bound(sqlite3_bind_blob64(handle_, ++parameter_, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
}

Result<bool> Statement::step() {
    if (bindError_ != SQLITE_OK)
        return describe(bindError_, connection_->path(), sqlite3_errstr(bindError_));
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW)
        return true;
    if (code == SQLITE_DONE)
        return false;
    return connection_->lastError();
}

Status Statement::run() {
    for (;;) {
        TS_ASSIGN(const bool row, step());
        if (!row)
            return {};
    }
}

bool Statement::isNull(int column) const {
    return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}
std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(handle_, column);
}
int Statement::smallInteger(int column) const {
    using Limits = std::numeric_limits<int>;
    return static_cast<int>(std::clamp<std::int64_t>(integer(column), Limits::min(), Limits::max()));
}
double Statement::real(int column) const {
    return sqlite3_column_double(handle_, column);
}

std::string Statement::text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
    return data ? std::string(data, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)))
                : std::string();
}

std::span<const std::uint8_t> Statement::blob(int column) const {
    const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(handle_, column));
    return {data, data ? static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)) : 0};
}

std::optional<double> Statement::optionalReal(int column) const {
    return isNull(column) ? std::nullopt : std::optional<double>(real(column));
}

namespace {

std::string uriOf(const std::string& path) {
    static const char digits[] = "0123456789abcdef";
    std::string uri = "file:";
    for (const char character : path) {
        const auto byte = static_cast<unsigned char>(character);
        if (character == '%' || character == '?' || character == '#' || byte < 0x21 || byte > 0x7e)
            uri.append({'%', digits[byte >> 4], digits[byte & 15]});
        else
            uri += character;
    }
    return uri;
}

} // namespace

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, const OpenFlags& flags) {
    if (path.empty() || path.find('\0') != std::string::npos)
        return inputError("the store has an empty or impossible file name; name a file with --store");
    int access = flags.write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    access |= (flags.create ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI |
              SQLITE_OPEN_EXRESCODE;
    // As an absolute URI, names such as ":memory:" or "file:x" are files like any other.
    const std::string absolute = path.front() == '/' ? path : "./" + path;
    const std::string uri = uriOf(absolute) + (flags.immutable ? "?immutable=1" : "");
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(uri.c_str(), &handle, access, nullptr);
    std::unique_ptr<Connection> connection(new Connection(path, handle));
    if (code != SQLITE_OK)
        return handle ? connection->lastError() : describe(code, path, sqlite3_errstr(code));
    TS_TRY(connection->configure(flags));
    return connection;
}

Result<std::unique_ptr<Connection>> Connection::openInMemory() {
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(
        ":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    std::unique_ptr<Connection> connection(new Connection("in memory", handle));
    if (code != SQLITE_OK)
        return describe(code, "in memory", sqlite3_errstr(code));
    return connection;
}

Status Connection::configure(const OpenFlags& flags) {
    patience_ = flags.patience;
    sqlite3_busy_timeout(handle_, flags.busyTimeoutMs);
    sqlite3_progress_handler(handle_, 100'000, &Connection::isTooLate, this);
    sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, 64'000'000);
    static constexpr std::pair<int, int> kSettings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                                        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                                        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                                        {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                                        {SQLITE_DBCONFIG_ENABLE_FKEY, 1}};
    for (const auto& [setting, value] : kSettings)
        sqlite3_db_config(handle_, setting, value, nullptr);
    return execute("PRAGMA cell_size_check = ON");
}

int Connection::isTooLate(void* connection) {
    const auto& self = *static_cast<Connection*>(connection);
    return self.patience_.count() > 0 && std::chrono::steady_clock::now() - self.begun_ > self.patience_ ? 1 : 0;
}

Connection::~Connection() {
    for (const auto& entry : statements_)
        sqlite3_finalize(entry.second);
    sqlite3_close(handle_);
}

Result<Statement> Connection::prepare(std::string_view sql) {
    beginStatement();
    const auto known = statements_.find(std::string(sql));
    if (known != statements_.end())
        return Statement(*this, known->second);
    sqlite3_stmt* handle = nullptr;
    if (sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                           &handle, nullptr) != SQLITE_OK)
        return lastError();
    statements_.emplace(sql, handle);
    return Statement(*this, handle);
}

Status Connection::execute(const std::string& sql) {
    beginStatement();
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return lastError();
    return {};
}

Result<std::int64_t> Connection::number(const std::string& sql) {
    TS_ASSIGN(auto statement, prepare(sql));
    TS_ASSIGN(const bool row, statement.step());
    return row ? statement.integer(0) : 0;
}

std::int64_t Connection::lastRowId() const {
    return sqlite3_last_insert_rowid(handle_);
}
std::int64_t Connection::changes() const {
    return sqlite3_changes64(handle_);
}

Status Connection::transaction(const std::string& kind, const std::function<Status()>& body) {
    TS_TRY(execute("BEGIN " + kind));
    Status status = body();
    if (status.ok())
        status = execute("COMMIT");
    if (!status.ok() && !sqlite3_get_autocommit(handle_))
        sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr,
                     nullptr); // its failure adds nothing to the first one
    return status;
}

namespace {

// SQLite says "full" then, too.
bool numbersAreUsedUp(sqlite3* handle) {
    sqlite3_stmt* row = nullptr;
    const bool found = sqlite3_prepare_v2(handle, "SELECT 1 FROM sqlite_sequence WHERE seq = 9223372036854775807", -1, &row, nullptr) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return found;
}

} // namespace

Error Connection::lastError() const {
    const Error error = describe(sqlite3_extended_errcode(handle_), path_, sqlite3_errmsg(handle_));
    if ((sqlite3_extended_errcode(handle_) & 0xff) == SQLITE_FULL && numbersAreUsedUp(handle_))
        return damaged(path_, "the numbers for new rows are used up");
    return error;
}

int Connection::lastCode() const {
    return sqlite3_extended_errcode(handle_);
}

bool Connection::readOnly() const {
    return sqlite3_db_readonly(handle_, "main") == 1;
}

bool isDamage(int code) {
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB;
}

Error damaged(const std::string& path, const std::string& detail) {
    return inputError("the store " + path + " is damaged (" + detail + "); restore a copy, or move it away and start a new one");
}

// ": Read-only file system", as far as permissions tell.
static std::string whyNotOpened(const std::filesystem::path& path) {
    const bool isThere = ::access(path.c_str(), F_OK) == 0;
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const bool may = isThere ? ::access(path.c_str(), R_OK | W_OK) == 0 : ::access(folder.c_str(), W_OK | X_OK) == 0;
    return may ? std::string() : std::string(" (") + std::strerror(errno) + ")";
}

Error describe(int extendedCode, const std::string& path, const std::string& detail) {
    const std::string store = "the store " + path;
    switch (extendedCode & 0xff) {
    case SQLITE_FULL:
        return ioError(store + " cannot grow because the disk is full or its size limit is reached; free "
                               "some space and repeat (nothing stored is lost)");
    case SQLITE_BUSY:
        return timeoutError(store + " is locked by another program that is writing to it; wait for that to "
                                    "end, or choose another file with --store");
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return ioError(store + " is not writable; change the permissions of the file and its folder, or "
                               "choose another file with --store");
    case SQLITE_CANTOPEN:
        return ioError(store + " cannot be opened" + whyNotOpened(path) + "; check that it is a file in an existing folder that you "
                               "may write to, or choose another with --store");
    case SQLITE_NOTADB:
        return inputError(store + " is not a Tunesmith store, or its beginning is damaged; choose another "
                                  "file with --store or restore a copy");
    case SQLITE_CORRUPT:
        return damaged(path, detail);
    case SQLITE_IOERR:
        return ioError(store + " could not be read or written (" + detail +
                       "); check that the disk works and has space left");
    case SQLITE_NOMEM:
        return ioError(store + " could not be used because memory ran out; close other programs and repeat");
    case SQLITE_CONSTRAINT:
        return inputError(store + " refuses a row that breaks its rules (" + detail + ")");
    case SQLITE_TOOBIG:
        return inputError(store + " holds or is to hold a value of more than 64 MB, which is no use of it");
    case SQLITE_INTERRUPT:
        return timeoutError(store + " gave no answer for too long; it may be damaged or made for that: look at it with `tunesmith-cli store check`, or choose another "
                                    "file with --store");
    default:
        return internalError(store + " reports: " + detail);
    }
}

} // namespace tunesmith::sqlite
