// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/store/sqlite.h"

// Which tables a version of the store has, and how an older file becomes a newer one. FORMAT.md is the
// description.
namespace tunesmith::schema {

inline constexpr std::int64_t kApplicationId = 0x5475536d; // "TuSm"

struct Migration {
    int version;     // 1, 2, 3 ... without gaps
    const char* sql; // from the version before it to this one; never edited once it has landed
};

std::span<const Migration> migrations();
int currentVersion();
inline constexpr int kOldestReadable = 5; // later versions only add what readers do not ask for

struct Identity {
    bool empty = false; // a new file, or a database without anything in it
    int version = 0;
};

// Whose file is this? An error unless it is empty, or ours, not newer than `newest`, and laid out exactly as its version is: a trigger, a
// view, a generated column or a changed rule would do what somebody else wrote.
Result<Identity> identify(sqlite::Connection& connection, int newest);

// Brings an empty or older file of ours to the newest of `steps`, in one transaction; several processes may
// try at once.
Status migrate(sqlite::Connection& connection, std::span<const Migration> steps);

// One sentence for each table, index, view or trigger that is missing, foreign or changed.
Result<std::vector<std::string>> differences(sqlite::Connection& connection, int version);

} // namespace tunesmith::schema
