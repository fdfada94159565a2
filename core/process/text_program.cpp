// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/text_program.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tunesmith {
namespace {

constexpr int kLookMilliseconds = 20;

std::vector<char*> pointersTo(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (std::string& text : strings)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

int spawnWith(const TextProgram::Options& options, int socket, pid_t& pid) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> arguments{options.executable.string()};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    const int error = posix_spawn(&pid, options.executable.c_str(), &actions, &attributes, pointersTo(arguments).data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

bool isProgram(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

} // namespace

std::optional<std::filesystem::path> findProgram(const std::string& name) {
    const char* const path = std::getenv("PATH");
    std::string_view folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
    while (!folders.empty()) {
        const std::string_view folder = folders.substr(0, folders.find(':'));
        folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
        if (const auto program = std::filesystem::path(folder) / name; !folder.empty() && isProgram(program))
            return program;
    }
    return std::nullopt;
}

Result<std::unique_ptr<TextProgram>> TextProgram::start(const Options& options) {
    const auto cannotStart = [&](int error) { return ioError("cannot start " + options.executable.string() + ": " + std::strerror(error)); };
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cannotStart(errno);
    pid_t pid = -1;
    const int error = spawnWith(options, ends[1], pid);
    ::close(ends[1]);
    if (error != 0) {
        ::close(ends[0]);
        return cannotStart(error);
    }
    if (options.memoryLimit > 0) {
        const rlimit limit{options.memoryLimit, options.memoryLimit};
        (void)::prlimit(pid, RLIMIT_DATA, &limit, nullptr); // a second line of defence: solvers have options of their own
    }
    return std::unique_ptr<TextProgram>(new TextProgram(options.executable.filename().string(), pid, ends[0]));
}

TextProgram::~TextProgram() {
    ::close(socket_);
    ::kill(-pid_, SIGKILL); // before reaping: until then the id is its own
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
        ;
}

Result<std::string> TextProgram::ask(std::string_view text, std::chrono::steady_clock::duration timeout, const StopToken& stop) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
        if (const std::size_t end = received_.find('\n'); text.empty() && end != std::string::npos) {
            std::string line = received_.substr(0, end);
            received_.erase(0, end + 1);
            return line;
        }
        if (stop.stopRequested())
            return cancelledError();
        if (std::chrono::steady_clock::now() >= deadline)
            return timeoutError(name_ + " did not answer in time");
        TS_TRY(transfer(text));
    }
}

// Both ways at once: a program that answers while it is still being told would else wait for us, and we for it.
Status TextProgram::transfer(std::string_view& text) {
    pollfd state{socket_, static_cast<short>(text.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    if (::poll(&state, 1, kLookMilliseconds) <= 0)
        return {};
    if (state.revents & POLLOUT) {
        const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR && errno != EAGAIN)
            return gone();
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
    if (state.revents & (POLLIN | POLLHUP | POLLERR)) {
        char buffer[4096];
        const ssize_t count = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN))
            return gone();
        received_.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    }
    return {};
}

Error TextProgram::gone() { return ioError(name_ + " ended before it had answered"); }

} // namespace tunesmith
