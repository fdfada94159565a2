// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/workbench/work.h"

namespace tunesmith {

struct CeilingsAt {
    int threads = 1;
    double fmaGflops = 0; // FP32 fused multiply-adds on registers
    double memoryGbs = 0; // STREAM triad
};

struct MachineReport {
    std::string cpu, isa;
    std::vector<CeilingsAt> threads;          // 1, 2, ... all cores
    std::string notKept = {};                 // why the store has not kept what was measured; empty: it has
    double peakGflops(int threadCount) const; // at the nearest thread count that was measured; 0: unknown
};

// The ceilings of this computer: measured once (a second per thread count, in a worker), then kept in the
// store. A store that cannot be written to costs only the keeping, and the report tells.
std::optional<MachineReport> knownMachine(const std::string& store); // if it was measured before
Result<MachineReport> machineReport(const std::string& store = {}, bool measureAgain = false,
                                    const Work& work = {});

int usableCores();

} // namespace tunesmith
