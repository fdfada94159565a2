// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <linux/filter.h>
#include <vector>

namespace tunesmith {

// The system calls of a confined worker, as a program for seccomp. It is a list of what is allowed: what the worker, its libraries and
// kernels were seen to call, in all tests and tunings. A call that nobody thought of is refused with EPERM. One that is later than the list
// is unknown (ENOSYS), as are clone3 and openat2: their flags are in memory, where a filter cannot look, and the C library takes clone and
// openat then.
//
// Where it matters, arguments are checked:
//  * clone makes threads of this process and nothing else; signals, and limits, are for this process,
//  * files are opened for reading; memory is private,
//  * with `keepsCores`, sched_setaffinity takes no mask but those of core_masks.h, and nothing changes the pages that they are in.
// For this process: its id is in the program. Whoever installs it holds it against the process that is to call.
std::vector<sock_filter> systemCallFilter(bool keepsCores);

} // namespace tunesmith
