// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/keeper.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Stands between Tunesmith and a command of a user's file. As the subreaper of all that the command starts it can end every one of them,
// whatever group or session they went to, and it notices when Tunesmith is gone. Single-threaded, so that fork() is harmless here and
// PR_SET_PDEATHSIG means what it says.
namespace tunesmith::keeper {
namespace {

double now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double secondsOf(const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); }

// Tells its clock just before the exec (who waits for the exec may be late: then programs would seem faster than they are), and an errno if that failed.
[[noreturn]] void become(char** command, const char* folder, rlim_t memory, int told) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit core{1, 1}; // 1 instead of 0: the value by which the kernel also spares a piped core handler
    ::setrlimit(RLIMIT_CORE, &core);
    const rlimit data{memory, memory};
    if (memory > 0)
        ::setrlimit(RLIMIT_DATA, &data);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const bool isThere = *folder == '\0' || ::chdir(folder) == 0;
    int error = errno;
    const double begun = now();
    [[maybe_unused]] auto written = ::write(told, &begun, sizeof begun);
    if (isThere) {
        ::execvp(command[0], command);
        error = errno;
    }
    written = ::write(told, &error, sizeof error);
    ::_exit(127);
}

// Whether so much came before the other end was closed.
bool readAll(int from, void* data, std::size_t size) {
    auto* at = static_cast<char*>(data);
    while (size > 0) {
        const ssize_t count = ::read(from, at, size);
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        at += count > 0 ? count : 0;
        size -= static_cast<std::size_t>(count > 0 ? count : 0);
    }
    return true;
}

// The pid of the command once it runs, with the time at which it began, or minus the errno that kept it from doing so.
pid_t start(char** command, const char* folder, rlim_t memory, double& begun) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    const pid_t pid = ::fork();
    if (pid == 0)
        become(command, folder, memory, ends[1]);
    const int forkError = errno;
    ::close(ends[1]);
    int error = 0;
    const bool failed = pid > 0 && readAll(ends[0], &begun, sizeof begun) && readAll(ends[0], &error, sizeof error); // the exec closes it
    ::close(ends[0]);
    return pid < 0 ? -forkError : failed ? -error : pid;
}

// The group first: nobody can fork away from that. Who left it is a child by now, or soon, when its parent is dead.
void killAll(pid_t group) {
    if (group > 0)
        ::kill(-group, SIGKILL);
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/children", static_cast<int>(::getpid()));
    do {
        if (std::FILE* children = std::fopen(path, "re")) {
            for (int child = 0; std::fscanf(children, "%d", &child) == 1;)
                ::kill(child, SIGKILL);
            std::fclose(children);
        }
    } while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR);
}

// Waits for the command's end or the hang-up of the socket, which is told by `false`. Orphans that come by are reaped.
bool wait(pid_t pid, int children, double begun, Report& report) {
    for (;;) {
        pollfd ends[]{{children, POLLIN, 0}, {kSocket, POLLRDHUP, 0}};
        if (::poll(ends, 2, -1) < 0 && errno != EINTR)
            return false;
        if (ends[1].revents != 0)
            return false;
        signalfd_siginfo ignored{};
        [[maybe_unused]] const auto taken = ::read(children, &ignored, sizeof ignored);
        int status = 0;
        rusage usage{};
        for (pid_t ended; (ended = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) {
            if (ended != pid)
                continue;
            report.seconds = now() - begun;
            report.cpuSeconds = secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime);
            report.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            report.exitStatus = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
            return true;
        }
    }
}

void keep(char** arguments) {
    sigset_t childEnded;
    sigemptyset(&childEnded);
    sigaddset(&childEnded, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &childEnded, nullptr);
    const int children = ::signalfd(-1, &childEnded, SFD_CLOEXEC | SFD_NONBLOCK);
    Report report;
    double begun = now();
    const pid_t pid = start(arguments + 3, arguments[2], std::strtoull(arguments[1], nullptr, 10), begun);
    bool wanted = true;
    if (pid < 0)
        report.startError = -pid;
    else
        wanted = wait(pid, children, begun, report);
    killAll(pid);
    if (wanted)
        [[maybe_unused]] const auto told = ::send(kSocket, &report, sizeof report, MSG_NOSIGNAL);
}

} // namespace
} // namespace tunesmith::keeper

int main(int count, char** arguments) {
    using namespace tunesmith::keeper;
    if (count < 4 || ::fcntl(kSocket, F_SETFD, FD_CLOEXEC) != 0) {
        std::fputs("This program is started by Tunesmith and is of no use by itself.\n", stderr);
        return 2;
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    keep(arguments);
    return 0;
}
