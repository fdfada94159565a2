// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace tunesmith {

// A thread of its own. A limit of processes is an error.
template <class Work> Result<std::jthread> startThread(Work work) {
    try {
        return std::jthread(std::move(work));
    } catch (const std::system_error& error) {
        return ioError("cannot start a thread (" + error.code().message() + "); raise the limit of processes (ulimit -u)");
    }
}

// Threads that help their caller. Ends of scope wait for them.
class Helpers {
public:
    // `count` at most, each calling `work` with its number, from 1 on.
    template <class Work> Helpers(std::size_t count, const Work& work) {
        threads_.reserve(count); // helpers that are there wait for the caller, who is not to throw any more
        try {
            for (std::size_t number = 1; number <= count; ++number)
                threads_.emplace_back([work, number, caught = caught_.get()] {
                    try {
                        work(number);
                    } catch (...) {
                        const std::lock_guard lock(caught->mutex);
                        caught->first = std::current_exception();
                    }
                });
        } catch (const std::system_error&) {
        } catch (const std::bad_alloc&) {
        }
    }

    std::size_t size() const { return threads_.size(); }
    // Waits, and throws what a helper has thrown: memory may run out in any thread.
    void join() {
        threads_.clear();
        if (caught_->first)
            std::rethrow_exception(std::exchange(caught_->first, nullptr));
    }

private:
    struct Caught {
        std::mutex mutex;
        std::exception_ptr first;
    };
    std::unique_ptr<Caught> caught_ = std::make_unique<Caught>();
    std::vector<std::jthread> threads_;
};

// Up to `count` threads more for work that the caller could do alone. Where the system gives no further thread (a limit of processes), those
// that there are do it, and the caller.
template <class Work> Helpers startHelpers(std::size_t count, const Work& work) { return Helpers(count, work); }

} // namespace tunesmith
