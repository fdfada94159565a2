// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/worker_pool.h"
#include <cassert>

namespace tunesmith {

Result<std::unique_ptr<WorkerPool>> WorkerPool::start(const WorkerOptions& options, std::size_t workers) {
    if (workers == 0)
        return inputError("a pool needs at least one worker");
    std::unique_ptr<WorkerPool> pool(new WorkerPool);
    for (std::size_t i = 0; i < workers; ++i) {
        TS_ASSIGN(auto client, WorkerClient::start(options));
        pool->free_.push_back(std::move(client));
    }
    pool->counts_.workers = workers;
    return pool;
}

WorkerPool::~WorkerPool() {
    assert(counts_.busy == 0);
}

CallReport WorkerPool::exchange(const Message& request, std::chrono::steady_clock::duration timeout,
                                const StopToken& stop) {
    std::unique_ptr<WorkerClient> client = borrow(stop);
    CallReport report;
    if (!client) {
        report.outcome = CallOutcome::cancelled;
        report.error = cancelledError();
        return report;
    }
    const int before = client->restarts();
    report = client->exchange(request, timeout, stop);
    const int restarts = client->restarts() - before;
    giveBack(std::move(client), report, restarts);
    return report;
}

std::unique_ptr<WorkerClient> WorkerPool::borrow(const StopToken& stop) {
    std::unique_lock lock(mutex_);
    while (free_.empty()) {
        if (stop.stopRequested())
            return nullptr;
        freed_.wait_for(lock, kWaitTick);
    }
    if (stop.stopRequested())
        return nullptr;
    // The last one given back: its caches are warm.
    std::unique_ptr<WorkerClient> client = std::move(free_.back());
    free_.pop_back();
    ++counts_.busy;
    return client;
}

void WorkerPool::giveBack(std::unique_ptr<WorkerClient> client, const CallReport& report, int restarts) {
    {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(client));
        --counts_.busy;
        ++counts_.calls;
        counts_.crashes += report.outcome == CallOutcome::crashed;
        counts_.timeouts += report.outcome == CallOutcome::timedOut;
        counts_.restarts += static_cast<std::size_t>(restarts);
    }
    freed_.notify_one();
}

WorkerPool::Counts WorkerPool::counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
}

} // namespace tunesmith
