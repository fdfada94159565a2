// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/model.h"

namespace tunesmith {

// What there is to tune in a model: each distinct kernel once, those of most work first.
struct TuningTask {
    std::string key; // of the workload
    std::string name, op, shape;
    std::size_t count = 0; // occurrences in the model
    double space = 0;      // number of configs
    std::string scheduleTemplate;
    std::int64_t flops = 0, bytes = 0; // bytes: everything that is read or written, once
    std::vector<std::string> nodes; // where it occurs
    std::string searchSpace;        // key of tuneSpaces(): what was asked for, or our own where that does not know the kernel
};

// `space`: a key of tuneSpaces() (tune.h); empty: the first.
Result<std::vector<TuningTask>> tuningTasks(const Model& model, int threads = 0, const std::string& space = {});

} // namespace tunesmith
