// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/process/lasting_thread.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <future>
#include <mutex>

#include "core/base/helpers.h"

namespace tunesmith {
namespace {

class LastingThread {
public:
    Status run(std::packaged_task<void()> task) {
        std::future<void> done = task.get_future();
        {
            const std::lock_guard lock(mutex_);
            TS_TRY(start());
            tasks_.push_back(std::move(task));
        }
        more_.notify_one();
        done.get();
        return {};
    }

private:
    // Signals are for the other threads.
    Status start() {
        if (started_)
            return {};
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        auto thread = startThread([this] { serve(); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (!thread.ok())
            return thread.error();
        thread->detach();
        started_ = true;
        return {};
    }

    [[noreturn]] void serve() {
        for (;;) {
            std::unique_lock lock(mutex_);
            more_.wait(lock, [&] { return !tasks_.empty(); });
            std::packaged_task<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
        }
    }

    std::mutex mutex_;
    std::condition_variable more_;
    std::deque<std::packaged_task<void()>> tasks_;
    bool started_ = false;
};

} // namespace

Status inLastingThread(std::function<void()> work) {
    static LastingThread& thread = *new LastingThread; // it may be at work when what is static is destroyed
    return thread.run(std::packaged_task<void()>(std::move(work)));
}

} // namespace tunesmith
