// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/worker_process.h"
#include "core/base/log.h"
#include "core/base/memory_budget.h"
#include "core/process/lasting_thread.h"
#include "core/process/worker_path.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tunesmith {
namespace {

constexpr std::size_t kErrorTail = 8192;
constexpr std::size_t kPipeSize = 65536; // of a pipe that nobody has enlarged
constexpr int kReapMilliseconds =
    5000; // a process in an uninterruptible system call outlives SIGKILL for a while

Error startError(const std::filesystem::path& executable, int error) {
    return ioError("cannot start the worker " + executable.string() + ": " + std::strerror(error));
}

// What a confined worker is told of this process's environment, in which there may be secrets.
bool isForOthers(const std::string& entry) {
    constexpr const char* kPlain[] = {"LD_", "LANG", "LC_", "OMP_", "GOMP_", "ASAN_", "LSAN_", "TSAN_", "UBSAN_"};
    return std::ranges::any_of(kPlain, [&](const char* start) { return entry.starts_with(start); });
}

int confinementCode(const WorkerOptions& options) {
    namespace environment = worker_environment;
    return !options.confinement ? environment::kNotConfined : options.confinement->foreign ? environment::kForeignCode : environment::kOwnCode;
}

std::vector<std::string> childEnvironment(const WorkerOptions& options) {
    std::map<std::string, std::string> changed{
        {"OMP_WAIT_POLICY", "passive"}, // must be there before libgomp loads
    };
    for (const auto& [name, value] : options.environment)
        changed[name] = value;
    changed[worker_environment::kSocketName] = std::to_string(worker_environment::kSocket);
    changed[worker_environment::kParentName] = std::to_string(::getpid());
    changed[worker_environment::kMemoryName] = std::to_string(options.memoryLimit);
    changed[worker_environment::kValuesName] = std::to_string(valueMemoryLimit());
    changed[worker_environment::kNicenessName] = std::to_string(options.niceness);
    changed[worker_environment::kConfinedName] = std::to_string(confinementCode(options));
    if (options.confinement)
        for (std::size_t i = 0; i < options.confinement->readable.size(); ++i)
            changed[worker_environment::kReadableName + std::to_string(i)] = options.confinement->readable[i];
    std::vector<std::string> result;
    for (char** entry = environ; *entry; ++entry) {
        const std::string text = *entry;
        if (!changed.contains(text.substr(0, text.find('='))) && (!options.confinement || isForOthers(text)))
            result.push_back(text);
    }
    for (const auto& [name, value] : changed)
        result.push_back(name + "=" + value);
    return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (std::string& text : strings)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

// posix_spawn: no code of ours runs between a fork of this threaded process and the exec.
int spawnProcess(const WorkerOptions& options, int socket, int errorPipe, pid_t& pid) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, errorPipe, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errorPipe, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, worker_environment::kSocket);
    posix_spawn_file_actions_addclosefrom_np(&actions, worker_environment::kSocket + 1);

    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> arguments{options.executable.string()};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    std::vector<std::string> environment = childEnvironment(options);
    const int error = posix_spawn(&pid, options.executable.c_str(), &actions, &attributes,
                                  pointers(arguments).data(), pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

// Foreign code dies with the thread that starts it (confinement.cpp). That one takes over the cores of the caller, which the worker inherits.
Result<int> spawnForeign(const WorkerOptions& options, int socket, int errorPipe, pid_t& pid) {
    cpu_set_t processors;
    const bool known = ::sched_getaffinity(0, sizeof processors, &processors) == 0;
    int error = 0;
    TS_TRY(inLastingThread([&] {
        if (known)
            static_cast<void>(::sched_setaffinity(0, sizeof processors, &processors));
        error = spawnProcess(options, socket, errorPipe, pid);
    }));
    return error;
}

// 0, or why a thread cannot be kept to them. One may end meanwhile.
int keepThreads(pid_t process, const cpu_set_t& processors) {
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", error))
        if (::sched_setaffinity(std::atoi(task.path().filename().c_str()), sizeof processors, &processors) != 0 && errno != ESRCH)
            return errno;
    return error.value();
}

// Each of thousands of measurements would say it again.
void sayOnce(const std::string& text) {
    static std::atomic<bool> said = false;
    if (!said.exchange(true))
        logMessage(LogLevel::warning, text);
}

} // namespace

std::string ProcessEnd::text() const {
    if (signal != 0) {
        const char* name = ::sigabbrev_np(signal);
        const char* meaning = ::sigdescr_np(signal);
        return "was killed by " + (name ? "SIG" + std::string(name) : "signal " + std::to_string(signal)) +
               (meaning ? " (" + std::string(meaning) + ")" : std::string());
    }
    return exitStatus ? "exited with status " + std::to_string(*exitStatus) : "ended in an unknown way";
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::spawn(const WorkerOptions& asked) {
    WorkerOptions options = asked;
    if (options.executable.empty()) {
        TS_ASSIGN(options.executable, findWorkerExecutable());
    }
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return startError(options.executable, errno);
    Descriptor ours(ends[0]), theirs(ends[1]);
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return startError(options.executable, errno);
    Descriptor errorsOut(ends[0]), errorsIn(ends[1]);
    if (!theirs.lift() || !errorsIn.lift() || ::fcntl(errorsOut.get(), F_SETFL, O_NONBLOCK) != 0)
        return startError(options.executable, errno);
    pid_t pid = -1;
    const bool foreign = options.confinement && options.confinement->foreign;
    TS_ASSIGN(const int error, foreign ? spawnForeign(options, theirs.get(), errorsIn.get(), pid) : Result<int>(spawnProcess(options, theirs.get(), errorsIn.get(), pid)));
    if (error != 0)
        return startError(options.executable, error);
    return std::unique_ptr<WorkerProcess>(new WorkerProcess(pid, std::move(ours), std::move(errorsOut)));
}

WorkerProcess::~WorkerProcess() { end(); }

bool WorkerProcess::running() const {
    if (end_)
        return false;
    siginfo_t info{};
    // WNOWAIT: it stays a zombie, so that its id, which is its group's id, cannot be given to anybody else
    // before end().
    const int rc = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    return rc == 0 ? info.si_pid == 0 : errno == EINTR;
}

bool WorkerProcess::waitDead(int milliseconds) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (running()) {
        if (std::chrono::steady_clock::now() >= deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    return true;
}

void WorkerProcess::drainErrors() {
    char buffer[kPipeSize];
    const ssize_t count = errorPipe_.isOpen() ? ::read(errorPipe_.get(), buffer, sizeof buffer) : -1;
    if (count > 0) {
        errorTail_.append(buffer, static_cast<std::size_t>(count));
        if (errorTail_.size() > kErrorTail)
            errorTail_.erase(0, errorTail_.size() - kErrorTail);
    } else if (count == 0) {
        errorPipe_.close();
    }
}

void WorkerProcess::keepTo(const std::vector<int>& processors) {
    if (processors == processors_)
        return;
    cpu_set_t own, set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(::getpid(), sizeof own, &own) != 0)
        return;
    for (const int processor : processors)
        if (processor >= 0 && processor < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(processor), &own))
            CPU_SET(static_cast<std::size_t>(processor), &set);
    if (CPU_COUNT(&set) == 0)
        return;
    if (const int failure = keepThreads(pid_, set); failure != 0)
        sayOnce("workers cannot be kept to cores, so measurements disturb each other: " + std::string(std::strerror(failure)));
    else
        processors_ = processors;
}

ProcessEnd WorkerProcess::end(int patienceMilliseconds) {
    if (end_)
        return *end_;
    if (patienceMilliseconds > 0)
        waitDead(patienceMilliseconds);
    if (::kill(-pid_, SIGKILL) != 0 && errno == EPERM) // before reaping: grandchildren live in the same group
        ::shutdown(socket_.get(), SHUT_RDWR);                // then it ends itself, unless its code prevents that
    ProcessEnd result;
    if (waitDead(kReapMilliseconds)) {
        siginfo_t info{};
        if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) == 0 && info.si_pid == pid_) {
            if (info.si_code == CLD_EXITED)
                result.exitStatus = info.si_status;
            else
                result.signal = info.si_status;
        }
    } else {
        logMessage(LogLevel::warning,
                   "worker " + std::to_string(pid_) + " does not die; it hangs in a system call, or this program lacks the right to kill it (CAP_KILL)");
    }
    drainErrors();
    end_ = result;
    return result;
}

} // namespace tunesmith
