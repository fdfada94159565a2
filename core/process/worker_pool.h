// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/process/worker_client.h"
#include <condition_variable>
#include <mutex>
#include <vector>

namespace tunesmith {

// A fixed number of workers for callers on any number of threads. A caller borrows whichever worker is free
// and blocks until one is; who waits longest is not necessarily served first.
class WorkerPool {
public:
    struct Counts {
        std::size_t workers = 0;
        std::size_t busy = 0;
        std::size_t calls = 0;   // finished, however
        std::size_t crashes = 0; // calls that ended with CallOutcome::crashed
        std::size_t timeouts = 0;
        std::size_t restarts = 0; // workers started after the first ones
    };

    static Result<std::unique_ptr<WorkerPool>> start(const WorkerOptions& options, std::size_t workers);
    ~WorkerPool(); // no call may be in flight; ends all workers

    // As WorkerClient::exchange. `timeout` counts from the moment when a worker is free; `stop` also ends the
    // waiting for one.
    CallReport exchange(const Message& request, std::chrono::steady_clock::duration timeout,
                        const StopToken& stop = {});
    Result<Message> call(const Message& request, std::chrono::steady_clock::duration timeout,
                         const StopToken& stop = {}) {
        return exchange(request, timeout, stop).toResult();
    }
    Counts counts() const;

private:
    WorkerPool() = default;
    std::unique_ptr<WorkerClient> borrow(const StopToken& stop); // null when stopped
    void giveBack(std::unique_ptr<WorkerClient> client, const CallReport& report, int restarts);

    mutable std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<WorkerClient>> free_;
    Counts counts_;
};

} // namespace tunesmith
