// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

// For the source of a program's main() alone. Of standard input, output and error, opens on /dev/null those that the program was started without, so
// that no file and no connection gets their numbers, and what is printed. Opened the wrong way round: to write there fails, as if it were closed.
// Comes before the libraries start, some of which open descriptors; so it asks the kernel itself.
namespace tunesmith {

inline void reserveStandardStreams(int, char**, char**) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
        if (::syscall(SYS_fcntl, stream, F_GETFD) < 0)
            ::syscall(SYS_openat, AT_FDCWD, "/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

[[gnu::section(".preinit_array"), gnu::used]] static void (*const reserveFirst)(int, char**, char**) = reserveStandardStreams;

} // namespace tunesmith
