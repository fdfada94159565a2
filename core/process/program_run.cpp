// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/program_run.h"
#include "core/base/descriptor.h"
#include "core/process/keeper.h"
#include "core/process/worker_path.h"
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tunesmith {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTickMilliseconds = 20;
constexpr std::chrono::seconds kPatience{5}; // for a keeper that was told to end
constexpr std::size_t kErrorTail = 8192;

struct Ends {
    Descriptor ours, theirs;
};

bool open(Ends& ends, int (*make)(int*)) {
    int pair[2];
    if (make(pair) != 0)
        return false;
    ends = {Descriptor(pair[0]), Descriptor(pair[1])};
    return ends.theirs.lift();
}
int makePipe(int* pair) { return ::pipe2(pair, O_CLOEXEC); }
int makeSocket(int* pair) { return ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair); }

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (std::string& text : strings)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> environmentWith(const std::map<std::string, std::string>& changed) {
    std::vector<std::string> result;
    for (char** entry = environ; *entry; ++entry)
        if (const std::string text = *entry; !changed.contains(text.substr(0, text.find('='))))
            result.push_back(text);
    for (const auto& [name, value] : changed)
        result.push_back(name + "=" + value);
    return result;
}

int spawnKeeper(const std::filesystem::path& keeper, const ProgramOptions& options, const std::array<Ends, 3>& ends, pid_t& pid) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < 3; ++i)
        posix_spawn_file_actions_adddup2(&actions, ends[static_cast<std::size_t>(i)].theirs.get(), i + 1);
    posix_spawn_file_actions_addclosefrom_np(&actions, keeper::kSocket + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0); // Ctrl-C in a terminal is for this process alone
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<std::string> arguments{keeper::kProgram, std::to_string(options.memoryLimit), options.folder.string()};
    arguments.insert(arguments.end(), options.command.begin(), options.command.end());
    std::vector<std::string> environment = environmentWith(options.environment);
    const int error = posix_spawn(&pid, keeper.c_str(), &actions, &attributes, pointers(arguments).data(), pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

// A keeper that was started; told to end and reaped when this goes.
class Keeper {
public:
    Keeper(pid_t pid, std::array<Ends, 3> ends) : pid_(pid), ends_(std::move(ends)) {
        for (Ends& each : ends_)
            each.theirs.close();
    }
    Keeper(const Keeper&) = delete;
    ~Keeper() {
        socket().close();
        const auto deadline = Clock::now() + kPatience;
        while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
            if (Clock::now() >= deadline)
                ::kill(-pid_, SIGKILL);
            std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
    }

    Status watch(const ProgramOptions& options, const StopToken& stop, ProgramRun& run) {
        const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(options.seconds, 1e9)));
        while (output().isOpen() || errors().isOpen() || !reported_) {
            if (stop.stopRequested())
                return cancelledError();
            run.timedOut = !reported_ && Clock::now() >= deadline;
            if (run.timedOut || run.tooMuchOutput)
                return {};
            pollfd states[]{{output().get(), POLLIN, 0}, {errors().get(), POLLIN, 0}, {reported_ ? -1 : socket().get(), POLLIN, 0}};
            if (::poll(states, 3, kTickMilliseconds) <= 0)
                continue;
            if (states[0].revents != 0)
                read(output(), run.output, options.outputLimit, run.tooMuchOutput);
            bool ignored = false;
            if (states[1].revents != 0)
                read(errors(), run.errors, std::string::npos, ignored);
            if (run.errors.size() > kErrorTail)
                run.errors.erase(0, run.errors.size() - kErrorTail);
            if (states[2].revents != 0)
                TS_TRY(takeReport(run));
        }
        return {};
    }
    const keeper::Report& report() const { return report_; }

private:
    Descriptor& output() { return ends_[0].ours; }
    Descriptor& errors() { return ends_[1].ours; }
    Descriptor& socket() { return ends_[2].ours; }

    static void read(Descriptor& from, std::string& text, std::size_t limit, bool& tooMuch) {
        char buffer[16384];
        const ssize_t count = ::read(from.get(), buffer, sizeof buffer);
        if (count > 0)
            text.append(buffer, static_cast<std::size_t>(count));
        else if (count == 0 || errno != EINTR)
            from.close();
        tooMuch = text.size() > limit;
    }

    Status takeReport(ProgramRun& run) {
        const ssize_t count = ::recv(socket().get(), &report_, sizeof report_, MSG_WAITALL);
        if (count != static_cast<ssize_t>(sizeof report_))
            return ioError(std::string(keeper::kProgram) + " was killed; what it kept means nothing");
        reported_ = true;
        run.seconds = report_.seconds;
        run.cpuSeconds = report_.cpuSeconds;
        run.end.signal = report_.signal;
        if (report_.signal == 0)
            run.end.exitStatus = report_.exitStatus;
        return {};
    }

    pid_t pid_;
    std::array<Ends, 3> ends_; // standard output, standard error, the socket
    keeper::Report report_;
    bool reported_ = false;
};

std::string lastLines(const std::string& text) {
    constexpr std::size_t kMost = 300;
    const auto last = text.find_last_not_of(" \n\r\t");
    if (last == std::string::npos)
        return {};
    const std::string trimmed = text.substr(0, last + 1);
    return ": " + (trimmed.size() > kMost ? "..." + trimmed.substr(trimmed.size() - kMost) : trimmed);
}

std::string secondsText(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", seconds);
    return text;
}

} // namespace

std::string ProgramRun::failure(const ProgramOptions& options) const {
    if (timedOut)
        return "did not end within " + secondsText(options.seconds);
    if (tooMuchOutput)
        return "printed more than " + std::to_string(options.outputLimit >> 10) + " KiB";
    return end.text() + lastLines(errors);
}

Result<ProgramRun> runProgram(const ProgramOptions& options, const StopToken& stop) {
    if (options.command.empty() || options.command.front().empty())
        return inputError("there is no command to be run");
    for (const std::string& word : options.command)
        if (word.find('\0') != std::string::npos)
            return inputError("a command holds a zero byte, which no program can be given");
    TS_ASSIGN(const std::filesystem::path executable, findProgramBeside(keeper::kProgram));
    std::array<Ends, 3> ends;
    pid_t pid = -1;
    const int error = !open(ends[0], makePipe) || !open(ends[1], makePipe) || !open(ends[2], makeSocket) ? errno : spawnKeeper(executable, options, ends, pid);
    if (error != 0)
        return ioError("cannot start " + executable.string() + ": " + std::strerror(error));
    Keeper kept(pid, std::move(ends));
    ProgramRun run;
    TS_TRY(kept.watch(options, stop, run));
    if (const int startError = kept.report().startError; startError != 0)
        return ioError("cannot start " + options.command.front() + ": " + std::strerror(startError));
    return run;
}

} // namespace tunesmith
