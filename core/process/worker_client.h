// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/stop_token.h"
#include "core/process/message.h"
#include "core/process/worker_process.h"
#include <chrono>
#include <memory>
#include <string>

namespace tunesmith {

enum class CallOutcome {
    replied,    // the handler's answer
    refused,    // the handler's Error (or a request over the size limits); the worker lives on
    crashed,    // the worker died, or sent garbage and was killed
    timedOut,   // killed because the time was over
    cancelled,  // killed because nobody wants the answer any more (or not even asked)
    notStarted, // there is no worker
};

struct CallReport {
    CallOutcome outcome = CallOutcome::notStarted;
    Message reply;         // replied
    Error error;           // everything else
    ProcessEnd end;        // crashed
    std::string errorTail; // crashed, timedOut: the last KiBs of what the worker printed

    bool replied() const { return outcome == CallOutcome::replied; }
    Result<Message> toResult() &&;
};

// The workbench's side of one persistent worker, in which everything foreign runs: candidate kernels,
// compiled modules, plugin programs. It survives each of the worker's deaths. For one thread at a time
// (WorkerPool for several).
//
// A worker that crashed, hung or was cancelled is gone with its whole process group before call() returns;
// the next call starts a new one. The worker also dies when this process does, even by kill -9.
class WorkerClient {
public:
    static Result<std::unique_ptr<WorkerClient>> start(WorkerOptions options);

    // Sends {"verb": …, …} and waits on the wall clock for the answer. Overruns `timeout` by no more than the
    // 20 ms of a tick and what the kernel needs to kill. Timeouts over a year count as one. A worker whose answer has more than
    // `most` bytes is killed before they are read.
    CallReport exchange(const Message& request, std::chrono::steady_clock::duration timeout,
                        const StopToken& stop = {}, std::size_t most = MessageLimits::answer);
    // The same for callers who need only the answer: a crash is an `internal` error that says how and quotes
    // the last line that the worker printed.
    Result<Message> call(const Message& request, std::chrono::steady_clock::duration timeout,
                         const StopToken& stop = {}, std::size_t most = MessageLimits::answer) {
        return exchange(request, timeout, stop, most).toResult();
    }

    bool alive() const { return process_ && process_->running(); }
    Status restart();
    int restarts() const { return restarts_; } // how many workers were started after the first
    pid_t pid() const { return process_ ? process_->pid() : -1; }

private:
    explicit WorkerClient(WorkerOptions options) : options_(std::move(options)) {}
    Result<std::optional<Message>> transfer(const Message& request, const Wait& wait, std::size_t most, bool& sent);
    CallReport failed(const Error& error, std::chrono::steady_clock::duration timeout);

    WorkerOptions options_;
    std::unique_ptr<WorkerProcess> process_;
    int restarts_ = 0;
};

// The gaps in the confinement of this worker on this kernel, a clause each (confinement.h). An Error where it cannot be confined at all.
Result<std::vector<std::string>> confinementGaps(WorkerClient& worker);

} // namespace tunesmith
