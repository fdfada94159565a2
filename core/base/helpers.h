// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tunesmith {

// Threads that help their caller. Ends of scope wait for them.
class Helpers {
public:
    // `count` at most, each calling `work` with its number, from 1 on.
    template <class Work> Helpers(std::size_t count, const Work& work) {
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
