// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/bus_error.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <errno.h>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

namespace tunesmith {
namespace {

// Only calls that a handler may make: no memory is taken, nothing is locked.

void say(std::initializer_list<const char*> words) {
    for (const char* const word : words)
        if (::write(STDERR_FILENO, word, std::strlen(word)) < 0)
            return;
}

int valueOf(char digit) { return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1; }

std::uintptr_t numberAt(const char*& at) {
    std::uintptr_t number = 0;
    for (; valueOf(*at) >= 0; ++at)
        number = number * 16 + static_cast<std::uintptr_t>(valueOf(*at));
    return number;
}

// The path in a line "7f00-7f01 r--s 00000000 08:01 131 /home/me/file", if its range has the address.
const char* pathIn(const char* line, std::uintptr_t address) {
    const std::uintptr_t begin = numberAt(line);
    if (*line != '-')
        return nullptr;
    const std::uintptr_t end = numberAt(++line);
    return address >= begin && address < end ? std::strchr(line, '/') : nullptr;
}

// "" where it is not known. What comes after a long name is left out.
const char* fileAt(std::uintptr_t address) {
    static char line[4096];
    char piece[1024];
    const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    std::size_t length = 0;
    for (ssize_t count = 0; maps >= 0 && (count = ::read(maps, piece, sizeof piece)) > 0;)
        for (ssize_t i = 0; i < count; ++i) {
            if (piece[i] != '\n') {
                if (length + 1 < sizeof line)
                    line[length++] = piece[i] >= ' ' && piece[i] < 0x7f ? piece[i] : '?'; // nothing that would steer a terminal
                continue;
            }
            line[length] = '\0';
            length = 0;
            if (const char* const path = pathIn(line, address))
                return path; // the program ends, and with it the descriptor
        }
    return "";
}

void onBusError(int signal, siginfo_t* info, void*) {
    static std::atomic_flag told = ATOMIC_FLAG_INIT;
    if (info->si_code != BUS_ADRERR) {
        std::signal(signal, SIG_DFL); // the same instruction ends the program
        return;
    }
    while (told.test_and_set()) // by another thread, which ends the program
        ::pause();
    const char* const file = fileAt(reinterpret_cast<std::uintptr_t>(info->si_addr));
    say({"\n", program_invocation_short_name, ": another program cut off the file ", *file ? file : "", *file ? " " : "",
         "while this one was using it, or its disk failed; what was not finished is lost, so see that only one program writes to it, and begin again\n"});
    ::_exit(1);
}

} // namespace

void tellBusErrors() {
    struct sigaction action {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, nullptr);
}

} // namespace tunesmith
