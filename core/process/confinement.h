// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/base/result.h"

namespace tunesmith {

// For workers that run kernels of people at other machines. From now on this process and what it starts
//  * gets no more rights than it has (no_new_privs), and has none of root's if it is root,
//  * makes no connection: system calls for sockets fail, also through io_uring,
//  * starts no program and no process, and leaves its process group for no other: killing the group leaves nothing behind,
//  * looks into and signals no other process,
//  * has no memory that limits do not count: none that is shared, and none with a name,
//  * changes nothing in the file system: no file is opened for writing, cut off, made, renamed or removed, nor its rights, owner or times changed,
//  * where the kernel has Landlock (5.13, Debian 12), reads only itself, its libraries, /usr, and what /proc and /sys say about it and the processors.
// Before the process has a second thread. An Error: the kernel knows no such filters, or refuses them.
Status confineProcess();
std::string confinementGap(); // what of it this kernel cannot enforce, as a sentence; empty: nothing

} // namespace tunesmith
