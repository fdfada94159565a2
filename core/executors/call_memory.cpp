// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/call_memory.h"

#include <utility>

namespace tunesmith {
namespace {

constexpr std::chrono::milliseconds kLookAgain{20}; // whether a share is still wanted

} // namespace

CallMemory::Share::Share(Share&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}

CallMemory::Share& CallMemory::Share::operator=(Share&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

void CallMemory::Share::giveBack() {
    if (!memory_)
        return;
    const std::lock_guard lock(memory_->mutex_);
    memory_->held_ -= bytes_;
    memory_->room_.notify_all();
}

CallMemory::Share CallMemory::take(std::size_t bytes, std::chrono::milliseconds patience, const std::function<bool()>& isUnwanted) {
    const auto until = std::chrono::steady_clock::now() + patience;
    std::unique_lock lock(mutex_);
    for (; held_ != 0 && (held_ > most_ || bytes > most_ - held_); room_.wait_for(lock, kLookAgain))
        if (std::chrono::steady_clock::now() >= until || isUnwanted())
            return {};
    held_ += bytes;
    return {this, bytes};
}

} // namespace tunesmith
