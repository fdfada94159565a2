// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>

#include "core/process/message.h"

namespace tunesmith {

// Kernels run in the workers that answer, so a wild one may write any answer, and a worker of another machine may be anybody's. Whoever executes kernels looks at an
// answer before it hands it on.

inline constexpr double kMostMeasureMs = 60'000, kMostProfileSeconds = 3600; // of a request
inline constexpr std::size_t kLongestConfig = 1 << 16;

// Whether all that a schedule problem reads has the type and size that it takes for granted: a kernel, or times that a clock can tell, no more than were
// asked for, and a status that a measurement comes to.
Status checkKernelReply(const Message& request, const Message& reply);

} // namespace tunesmith
