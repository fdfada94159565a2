// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/process/confinement.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tunesmith {

struct WorkerOptions {
    std::filesystem::path executable; // empty: findWorkerExecutable()
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment; // added to, or replacing, what this process has; a confined one has little of it
    std::uint64_t memoryLimit = 0;                  // bytes of private data; 0: none
    int niceness = 0;
    std::optional<Confinement> confinement = {};
};

// How a process ended. Neither set: nobody knows (somebody else reaped it).
struct ProcessEnd {
    int signal = 0;
    std::optional<int> exitStatus;
    std::string text() const; // "was killed by SIGSEGV (Segmentation fault)", "exited with status 3"
};

// One running worker: an exec'd process that leads its own process group, with a socket to it and the tail of
// what it printed. For one thread at a time. The destructor kills the group and reaps, however the worker is.
class WorkerProcess {
public:
    static Result<std::unique_ptr<WorkerProcess>> spawn(const WorkerOptions& options);
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    pid_t pid() const { return pid_; }
    int socket() const { return socket_.get(); }
    int errorPipe() const { return errorPipe_.get(); } // -1 once the worker has closed it
    bool running() const;                        // false: dead, though perhaps not yet reaped
    void drainErrors();                          // takes what the worker has printed, as much as a pipe holds, for it may print without end; never blocks
    const std::string& errorTail() const { return errorTail_; }

    // Its threads, from outside: a confined one cannot do that. Numbers of processors, of which those count that this process has.
    void keepTo(const std::vector<int>& processors);

    // Kills the whole group and reaps. A worker that is dying by itself gets `patience` to do so, so that the
    // report says why it died.
    ProcessEnd end(int patienceMilliseconds = 0);

private:
    WorkerProcess(pid_t pid, Descriptor socket, Descriptor errorPipe) : pid_(pid), socket_(std::move(socket)), errorPipe_(std::move(errorPipe)) {}
    bool waitDead(int milliseconds) const;

    pid_t pid_;
    Descriptor socket_, errorPipe_;
    std::string errorTail_;
    std::vector<int> processors_; // that it was kept to last
    std::optional<ProcessEnd> end_;
};

// The contract between WorkerProcess and serveWorker().
namespace worker_environment {
inline constexpr int kSocket = 3;
inline constexpr const char* kSocketName = "TUNESMITH_WORKER_SOCKET";
inline constexpr const char* kParentName = "TUNESMITH_WORKER_PARENT";
inline constexpr const char* kMemoryName = "TUNESMITH_WORKER_MEMORY";
inline constexpr const char* kValuesName = "TUNESMITH_WORKER_VALUES"; // bytes that values may take (base/memory_budget.h)
inline constexpr const char* kNicenessName = "TUNESMITH_WORKER_NICENESS";
inline constexpr const char* kConfinedName = "TUNESMITH_WORKER_CONFINED"; // kNotConfined and so on
inline constexpr const char* kReadableName = "TUNESMITH_WORKER_READABLE"; // and a number from 0 on: a path each
inline constexpr int kNotConfined = 0, kOwnCode = 1, kForeignCode = 2;
inline constexpr const char* kProcessors = "processors"; // of a request: those that the worker is kept to from now on, a list of numbers
inline constexpr const char* kGapsVerb = "confinement_gaps"; // that every worker answers: {"gaps": […]}
} // namespace worker_environment

} // namespace tunesmith
