// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/program.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tunesmith {
namespace {

constexpr std::size_t kKeptErrors = 64 * 1024;

std::string readAll(int descriptor) {
    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return text;
        text.append(buffer, std::min(static_cast<std::size_t>(count),
                                     kKeptErrors - std::min(kKeptErrors, text.size())));
    }
}

int spawnProgram(const std::filesystem::path& program, std::vector<std::string> arguments, int errorPipe,
                 pid_t& pid) {
    arguments.insert(arguments.begin(), program.string());
    std::vector<char*> pointers;
    for (std::string& argument : arguments)
        pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, errorPipe, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, changed; // the caller may be a thread that blocks signals or a process that ignores some
    sigemptyset(&none);
    sigemptyset(&changed);
    sigaddset(&changed, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &changed);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

} // namespace

Result<ProgramResult> runProgram(const std::filesystem::path& program,
                                 const std::vector<std::string>& arguments) {
    const auto cannotStart = [&](int error) {
        return ioError("cannot start " + program.string() + ": " + std::strerror(error));
    };
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return cannotStart(errno);
    pid_t pid = -1;
    const int error = spawnProgram(program, arguments, ends[1], pid);
    ::close(ends[1]);
    ProgramResult result;
    if (error == 0)
        result.errors = readAll(ends[0]);
    ::close(ends[0]);
    if (error != 0)
        return cannotStart(error);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return cannotStart(errno);
    result.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    result.ending = WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                                        : "exited with status " + std::to_string(WEXITSTATUS(status));
    return result;
}

} // namespace tunesmith
