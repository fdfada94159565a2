// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <mutex>
#include <string>

#include "core/workbench/work.h"

namespace tunesmith::cli {

// Progress on stderr: one line that is written over on a terminal; elsewhere nothing in the first second,
// then a line when a phase begins and every 15 s. Callable from any thread.
class ProgressLine {
public:
    ProgressLine();
    ~ProgressLine() { clear(); }
    void show(const Progress& progress);
    void clear(); // takes the line away before something else is printed

private:
    using Clock = std::chrono::steady_clock;
    std::mutex mutex_;
    bool terminal_;
    bool shown_ = false;
    std::string phase_;
    Clock::time_point begun_ = Clock::now(), last_{};
};

} // namespace tunesmith::cli
