// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/helpers.h"
#include "core/base/result.h"
#include "core/base/stop_token.h"

namespace tunesmith::substitution {

// Calls `part` with 0 to count - 1 on so many threads; whoever is free takes the next. No more are begun after an error, which is returned,
// or when stopped. `tick` is called from the calling thread, now and then and at the end.
inline Status inParallel(std::size_t count, int threads, const StopToken& stop, const std::function<Status(std::size_t)>& part,
                         const std::function<void()>& tick = {}) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::condition_variable ended;
    std::optional<Error> error; // the first
    std::size_t running = static_cast<std::size_t>(std::max(1, threads));
    const auto tried = [&](std::size_t i) -> Status {
        try {
            return part(i);
        } catch (const std::bad_alloc&) {
            return ioError("out of memory");
        } catch (const std::exception& bug) {
            return internalError(bug.what());
        }
    };
    const auto work = [&](std::size_t) {
        for (std::size_t i = next++; i < count && !stop.stopRequested(); i = next++)
            if (const Status status = tried(i); !status.ok()) {
                next = count;
                const std::lock_guard lock(mutex);
                if (!error)
                    error = status.error();
            }
        const std::lock_guard lock(mutex);
        if (--running == 0)
            ended.notify_one();
    };
    {
        const std::size_t wanted = running;
        const auto pool = startHelpers(wanted, work);
        {
            const std::lock_guard lock(mutex);
            running -= wanted - pool.size();
        }
        if (pool.size() == 0) {
            ++running;
            work(0);
        }
        for (bool done = false; !done;) {
            std::unique_lock lock(mutex);
            done = ended.wait_for(lock, std::chrono::milliseconds(200), [&] { return running == 0; });
            lock.unlock();
            if (tick)
                tick();
        }
    }
    if (error)
        return *error;
    return stop.stopRequested() ? Status(cancelledError()) : Status();
}

} // namespace tunesmith::substitution
