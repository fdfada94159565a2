// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/result.h"

struct sqlite3;
struct sqlite3_stmt;

// The little of SQLite's C interface that the store needs, with our errors. Inside core/store only.
namespace tunesmith::sqlite {

class Connection;

// A prepared statement, borrowed from its connection, which keeps it for the next use. Parameters are bound
// from left to right; an error of binding shows in step(). Columns count from 0 and are valid until the next
// step().
class Statement {
public:
    Statement(Connection& connection, sqlite3_stmt* handle) : connection_(&connection), handle_(handle) {}
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&&) = delete;
    ~Statement();

    Statement& bind(std::int64_t value);
    Statement& bind(int value) { return bind(static_cast<std::int64_t>(value)); }
    Statement& bind(double value);
    Statement& bind(std::string_view text);
    Statement& bind(const std::string& text) { return bind(std::string_view(text)); }
    Statement& bind(const char* text) { return bind(std::string_view(text)); }
    Statement& bindBits(std::uint64_t value) { return bind(static_cast<std::int64_t>(value)); }
    Statement& bindBlob(std::span<const std::uint8_t> bytes);
    Statement& bindNull();
    template <class T> Statement& bind(const std::optional<T>& value) {
        return value ? bind(*value) : bindNull();
    }

    Result<bool> step(); // is there a row
    Status run();        // for statements without rows

    bool isNull(int column) const;
    std::int64_t integer(int column) const;
    int smallInteger(int column) const; // the nearest that an int can be: a file may hold any
    double real(int column) const;
    std::string text(int column) const;
    std::span<const std::uint8_t> blob(int column) const;
    std::optional<double> optionalReal(int column) const;

private:
    Statement& bound(int code);

    Connection* connection_;
    sqlite3_stmt* handle_;
    int parameter_ = 0;
    int bindError_ = 0;
};

struct OpenFlags {
    bool write = false;
    bool create = false;
    bool immutable = false; // nobody can change the file: works without log and lock files
    int busyTimeoutMs = 5000;
    std::chrono::milliseconds patience{60'000}; // with one statement; 0: without end
};

// Used by one thread at a time. The file may come from anybody: triggers and views in it are dead, its schema may call no functions, a
// value is 64 MB at most, and a statement that takes longer than the patience of the flags ends with an Error.
class Connection {
public:
    static Result<std::unique_ptr<Connection>> open(const std::string& path, const OpenFlags& flags);
    static Result<std::unique_ptr<Connection>> openInMemory();
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    Result<Statement> prepare(std::string_view sql);
    Status execute(const std::string& sql);              // any number of statements without parameters
    Result<std::int64_t> number(const std::string& sql); // first column of the first row
    std::int64_t lastRowId() const;
    std::int64_t changes() const; // rows of the last statement

    // Runs body between BEGIN (IMMEDIATE, EXCLUSIVE or nothing) and COMMIT; rolls back if either fails.
    Status transaction(const std::string& kind, const std::function<Status()>& body);

    const std::string& path() const { return path_; }
    bool readOnly() const;   // also when writing was asked for and the file does not allow it
    Error lastError() const; // SQLite's last failure as a sentence
    int lastCode() const;    // SQLite's extended result code of it

private:
    Connection(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
    Status configure(const OpenFlags& flags);
    void beginStatement() { begun_ = std::chrono::steady_clock::now(); }
    static int isTooLate(void* connection); // called now and then by what runs
    friend class Unhurried;

    std::string path_;
    sqlite3* handle_;
    std::chrono::milliseconds patience_{0};
    std::chrono::steady_clock::time_point begun_;
    std::unordered_map<std::string, sqlite3_stmt*> statements_;
};

// While it lives, statements may take as long as they want: what looks through a whole file does.
class Unhurried {
public:
    explicit Unhurried(Connection& connection) : connection_(connection), before_(std::exchange(connection.patience_, std::chrono::milliseconds(0))) {}
    ~Unhurried() { connection_.patience_ = before_; }
    Unhurried(const Unhurried&) = delete;
    Unhurried& operator=(const Unhurried&) = delete;

private:
    Connection& connection_;
    const std::chrono::milliseconds before_;
};

// The sentence for one of SQLite's result codes.
Error describe(int extendedCode, const std::string& path, const std::string& detail);
bool isDamage(int code); // CORRUPT or NOTADB
Error damaged(const std::string& path, const std::string& detail);

} // namespace tunesmith::sqlite
