// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <sched.h>

#include "core/base/result.h"

namespace tunesmith {

// A confined worker binds its threads to cores, for its measurements repeat then, and must not leave the cores that it was given. seccomp
// sees where a mask is and not what is in it. So the masks that are allowed lie at a fixed address, in pages that are only read: the one of
// all cores that this process has, and one of each of them alone. system_calls.h allows no others.

// For the calling thread. False: the kernel refuses it, or this process is confined and has no such mask.
bool keepThreadTo(const cpu_set_t& cores);

namespace core_masks {
inline constexpr std::uint32_t kAddress = 1 << 20; // below everything else; the pages are the only ones under 4 GiB
inline constexpr std::size_t kCount = 1 + CPU_SETSIZE;
Status reserve(); // from now on keepThreadTo() takes these. Before there are threads
} // namespace core_masks

} // namespace tunesmith
