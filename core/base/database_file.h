// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <list>
#include <optional>

namespace tunesmith {

// A database that this process has open, for as long as this lives. Who closes any descriptor of a file takes away all locks that the process has on it, SQLite's
// among them; then another process throws away the log that is written here. So nothing but SQLite opens its files here. From any thread.
class OpenDatabase {
public:
    explicit OpenDatabase(const std::filesystem::path& database);
    OpenDatabase(const OpenDatabase&) = delete;
    OpenDatabase& operator=(const OpenDatabase&) = delete;
    ~OpenDatabase();

private:
    std::list<std::filesystem::path>::iterator place_;
};

// Whether a file is such a database, its log or the log's index, by whatever name. Asked before a file is opened that anybody may have named.
bool isOpenDatabase(const std::filesystem::path& file);

// The SQLite database that a file is, or that it belongs to as its log, the log's index or its journal. What is measured lies in one
// and nowhere else, so nothing that a command writes takes such a place. Links are followed.
std::optional<std::filesystem::path> databaseOf(const std::filesystem::path& file);

} // namespace tunesmith
