// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>

#include "core/base/stop_token.h"

namespace tunesmith {

// What long work tells while it runs.
struct Progress {
    std::string phase;    // "compiling kernels"
    double fraction = -1; // of this phase, 0 to 1; negative: not known
    std::string detail;   // "12 of 40"
};

// How every long call of the facade is watched and ended. `progress` is called from the thread that does the
// work (usually the caller's): be quick, queue what is slow.
struct Work {
    StopToken stop;
    std::function<void(const Progress&)> progress;

    void report(std::string phase, double fraction = -1, std::string detail = {}) const {
        if (progress)
            progress({std::move(phase), fraction, std::move(detail)});
    }
};

} // namespace tunesmith
