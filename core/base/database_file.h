// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <optional>

namespace tunesmith {

// The SQLite database that a file is, or that it belongs to as its log, the log's index or its journal. What is measured lies in one
// and nowhere else, so nothing that a command writes takes such a place. A database that may be in use is not opened, for whoever
// closes it takes away the locks that this process has on it: then it is known by the log beside it. Links are followed.
std::optional<std::filesystem::path> databaseOf(const std::filesystem::path& file);

} // namespace tunesmith
