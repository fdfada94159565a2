// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/module/plan.h"

namespace tunesmith {

// A buffer of the arena with the first and the last step that touch it (inclusive).
struct LiveBuffer {
    std::int64_t bytes = 0;
    std::size_t firstStep = 0, lastStep = 0;
};

inline constexpr std::int64_t kBufferAlignment = 64; // bytes: a line of the cache, and the widest vector

struct MemoryPlan {
    std::vector<std::int64_t> offsets; // multiples of kBufferAlignment
    std::int64_t bytes = 0;
};

// Places buffers so that no two that are alive at the same step overlap: largest first, each at the lowest free offset
// (greedy by size; Pisarchyk and Lee, 2020).
MemoryPlan planMemory(const std::vector<LiveBuffer>& buffers);

// Whether what a run needs beside the weights fits into the budget of values (base/memory_budget.h).
Status checkMemory(const ModulePlan& plan);

} // namespace tunesmith
