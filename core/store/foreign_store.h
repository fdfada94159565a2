// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/store/sqlite.h"

// A store may come from somebody else, who may mean harm. Its schema is compared by schema::identify(); the rest is here. Inside core/store only.
namespace tunesmith {

// Before the file is opened: nothing lies beside it with which SQLite would change or delete another file, or make the store longer than it was.
Status checkCompanions(const std::string& path);

// A file that this user's programs have not met (known_stores.h) is looked through, and marked before it is written to. Jobs that wait in it and are
// not this user's own (job_seal.h) are paused then, wherever it lies.
Status meetToRead(sqlite::Connection& connection);
Status meetToWrite(sqlite::Connection& connection);

} // namespace tunesmith
