// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"

namespace tunesmith {

// For workers that run kernels of people at other machines. From now on this process and what it starts
//  * gets no more rights than it has (no_new_privs),
//  * makes no connection: system calls for sockets fail, also through io_uring,
//  * starts no program and no process, and leaves its process group for no other: killing the group leaves nothing behind,
//  * looks into and signals no other process,
//  * where the kernel has Landlock (5.13, Debian 12), changes nothing in the file system.
// It can still read what its user can. Before the process has a second thread. An Error: the kernel knows no such filters.
Status confineProcess();

} // namespace tunesmith
