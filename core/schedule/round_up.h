// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/loops/schedule.h"
#include "core/schedule/workload.h"

namespace tunesmith {

// Channels (axis 1 of every stage) that blocks do not divide: the lanes beyond the last channel are computed like the others,
// into the padding of the output, rather than tested for. Constants that are read by channel are packed with room for them.
// Does nothing where blocks divide the channels, or where something else that is read by channel has no room.
void roundUpChannels(loops::Schedule& schedule, LoweredWorkload& lowered, std::int64_t block);

} // namespace tunesmith
