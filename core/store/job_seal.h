// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/store/rows.h"
#include "core/store/sqlite.h"

// A job runs code that its row names, and the row may come from anybody: the file was elsewhere, or another program wrote to it. So who adds or
// resumes a job leaves a seal in `origin`, a mark (known_stores.h) of its number, kind, name and what it is to do. It is broken when the job
// is paused, cancelled, ended or removed: a job with a seal is one that this user wants to run, on this machine, in this file. Inside core/store only; part of the
// caller's transaction but for pauseUnsealed, which has its own.
namespace tunesmith {

Status sealJob(sqlite::Connection& connection, StoredJobId job);
Status breakSeal(sqlite::Connection& connection, StoredJobId job);

// True if it has its seal. One without that was to run is paused, with the remark that it came with the store.
Result<bool> requireSeal(sqlite::Connection& connection, StoredJobId job);

// Of jobs that wait to run; one whose program lives is in good hands.
Status pauseUnsealed(sqlite::Connection& connection);

} // namespace tunesmith
