// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/store/sqlite.h"

// A store may come from somebody else, who may mean harm. Its schema is compared by schema::identify(); the rest is here. Inside core/store only.
namespace tunesmith {

// Before the file is opened: nothing lies beside it with which SQLite would change or delete another file.
Status checkCompanions(const std::string& path);

// A file that this user's programs have not met (known_stores.h) is looked through. Before it is written to, jobs that wait in it are paused.
Status meetToRead(sqlite::Connection& connection);
Status meetToWrite(sqlite::Connection& connection);
Status rememberNew(sqlite::Connection& connection); // one that was just made

} // namespace tunesmith
