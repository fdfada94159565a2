// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include "core/workbench/model.h"

namespace tunesmith {

// One kernel of a model with all that became of it on the way to machine code.
struct InspectRequest {
    std::string workload; // its key, or the beginning of its name or of the name of a node that it computes
    std::string config;   // empty: the store's record, or the untuned schedule without one
    bool untuned = false;
    std::string store; // empty: the default store
    int threads = 0;   // 0: all cores
    Work work;
    std::string space = {}; // key of tuneSpaces(); empty: that of the workload's key, else the first
};

// Of the innermost loop that multiplies most.
struct HotLoop {
    std::size_t firstLine = 0, lines = 0; // in the assembly, from 0
    int instructions = 0, multiplyAdds = 0, spills = 0;
};

struct KernelInspection {
    std::string key, name;
    std::string config, schedule;   // schedule: the config's choices, for people
    std::optional<double> recordMs; // when the config is the store's record
    std::string layouts; // "NCHW16c -> NCHW8c": of what it reads and makes, without weights
    std::string loops, llvmIr, assembly;
    std::optional<HotLoop> hotLoop;
};

Result<KernelInspection> inspectKernel(const Model& model, const InspectRequest& request);

} // namespace tunesmith
