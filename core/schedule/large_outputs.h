// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/schedule.h"
#include "core/schedule/workload.h"

namespace tunesmith {

constexpr std::int64_t kLineFloats = 16; // of a cache line

// Whether a kernel's tensors are more than caches hold (32 MiB, the same on every machine, so that a config means the same kernel on
// all): what it wrote first is no longer there when it ends.
bool outgrowsCaches(const LoweredWorkload& lowered);

// Has the outputs of such a kernel written past the caches: what it reads stays there instead, and memory need not be read before it
// is overwritten.
void streamLargeOutputs(loops::Schedule& schedule, const LoweredWorkload& lowered);

} // namespace tunesmith
