// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

struct Confinement {
    // Somebody else's code runs confined or not at all, and does not leave the cores that it begins with. Code that was made here is
    // confined as far as this kernel lets it, and binds its threads to whatever cores a job gave it.
    bool foreign = true;
    std::vector<std::string> readable = {}; // files and folders besides its own
};

// For workers that run candidate kernels, and modules of others. From now on this process and what it starts
//  * makes none but the system calls of system_calls.h: no sockets, no programs and processes, no signals to others, no priorities and cores
//    of others, no objects of System V, no watching of folders,
//  * gets no more rights than it has (no_new_privs). Root becomes nobody. It stays root without any of its rights where `readable` names
//    files, which may be root's alone (its threads count as nobody's even so), where there is no nobody (a namespace of users with root alone), and for code that was made here where
//    who starts it could not kill it or keep it to cores else (containers without CAP_KILL or CAP_SYS_NICE),
//  * has no memory that limits do not count: none that is shared, and none with a name; few descriptors, and few threads where the kernel
//    gives it a namespace of users and counts them there (5.14),
//  * changes nothing in the file system,
//  * is killed by the kernel when the thread that started this process ends, where the code is foreign,
//  * where the kernel has Landlock (5.13, Debian 12), reads only itself, its libraries, /usr, what /proc and /sys say about it and the
//    processors, and what `readable` names.
// Before the process has a second thread. Returns what of it this kernel cannot enforce, a clause with its remedy each. An Error: the kernel knows no such
// filters.
Result<std::vector<std::string>> confineProcess(const Confinement& confinement);

// Whether a kernel of this release ("6.1.0-18-amd64") counts threads per namespace of users, as the limit on them needs: else it would also
// stop what the user runs elsewhere.
bool countsThreadsApart(const std::string& release);

} // namespace tunesmith
