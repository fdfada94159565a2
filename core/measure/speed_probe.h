// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <utility>

namespace tunesmith {

// Tells whether this core runs at full speed right now. On shared machines code runs in two modes, and nothing
// announces the slow one (about 1.75 times slower, for 10 ms to 24 s); but a short piece of work of known cost
// shows it. The probe is arithmetic on registers, so that it feels clock and neighbours of the core and nothing else.
// Kernels of several threads need a probe on all of them (PhaseRunner::probe): it also feels a core that is taken.
class SpeedProbe {
public:
    explicit SpeedProbe(double bestMs = 0, std::function<void()> work = probeWork) // 0: not known yet
        : bestMs_(bestMs), work_(std::move(work)) {}

    static void probeWork(); // about 5 microseconds

    double measure();           // ms of one probe; the least ever seen is kept
    bool fast();                // measures: within kSlack of the best
    double bestMs() const { return bestMs_; }

    static constexpr double kSlack = 1.2;

private:
    double bestMs_;
    std::function<void()> work_;
};

} // namespace tunesmith
