// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/base/helpers.h"
#include "core/workbench/machine.h"
#include "core/workbench/work.h"

namespace tunesmith {

// Inside core/workbench only.

inline std::size_t threadsFor(int asked) { return static_cast<std::size_t>(asked > 0 ? asked : usableCores()); }

// Calls `f` with 0 to count - 1, and with the number of the thread, on as many threads, the caller's among them, until all are done or it is asked to
// stop. The caller's reports.
template <class F> void forEachRule(std::size_t count, const std::string& phase, int threads, const Work& work, const F& f) {
    std::atomic<std::size_t> next = 0, done = 0;
    const auto run = [&](std::size_t thread) {
        for (std::size_t i = next++; i < count && !work.stop.stopRequested(); i = next++) {
            f(i, thread);
            ++done;
            if (thread == 0)
                work.report(phase, static_cast<double>(done) / static_cast<double>(count), std::to_string(done) + " of " + std::to_string(count));
        }
    };
    auto helpers = startHelpers(threadsFor(threads) - 1, run);
    run(0);
    helpers.join();
}

} // namespace tunesmith
