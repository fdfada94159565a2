// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>

namespace tunesmith {

// What calls, several at a time, move over a network while there are any. Any thread.
class Traffic {
public:
    using Clock = std::chrono::steady_clock;
    void begin(Clock::time_point now = Clock::now());
    void end(std::uint64_t bytes, Clock::time_point now = Clock::now()); // of a call, there and back
    double mbit() const; // Mbit/s of the ended calls; 0: nothing is known

private:
    mutable std::mutex mutex_;
    int calls_ = 0;
    Clock::time_point since_ = {};
    std::chrono::duration<double> busy_{0};
    double bytes_ = 0;
};

} // namespace tunesmith
