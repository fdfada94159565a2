// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/codegen/target.h"
#include "core/measure/large_memory.h"

// The two loops that the ceilings are measured with. Each thread works on its own data; a round is as slow as its slowest
// thread; the fastest of many short rounds counts.
namespace tunesmith::ceilings {

double fmaGflops(Isa isa, int threads); // the host must have the instruction set
double triadGbs(int threads);

// One thread's STREAM triad, to be timed in turns with other things: a[i] = b[i] + 3 c[i] of doubles, 64 MiB per array.
class Triad {
public:
    Triad(); // touches the arrays: on the thread that runs it
    void run();
    static constexpr std::size_t kElements = std::size_t(8) << 20;
    static constexpr double kBytes = 24.0 * kElements;

private:
    LargeMemory a_, b_, c_;
};

} // namespace tunesmith::ceilings
