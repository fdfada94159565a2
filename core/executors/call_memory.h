// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>

namespace tunesmith {

// The memory that all calls of a server hold together: each call takes its share before it fills it. A call that has a share does not wait for another one
// of the same kind, so calls never wait for each other. From any thread.
class CallMemory {
public:
    explicit CallMemory(std::size_t most) : most_(most) {}

    class Share {
    public:
        Share() = default; // none
        Share(Share&& other) noexcept;
        Share& operator=(Share&& other) noexcept;
        ~Share() { giveBack(); }
        explicit operator bool() const { return memory_ != nullptr; }

    private:
        friend class CallMemory;
        Share(CallMemory* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
        void giveBack();
        CallMemory* memory_ = nullptr;
        std::size_t bytes_ = 0;
    };
    // Waits as long as others hold too much, or until it is not wanted any more: none then. Who asks while nobody has a share gets any.
    Share take(std::size_t bytes, std::chrono::milliseconds patience, const std::function<bool()>& isUnwanted);

private:
    const std::size_t most_;
    std::mutex mutex_; // guards what follows
    std::size_t held_ = 0;
    std::condition_variable room_;
};

} // namespace tunesmith
