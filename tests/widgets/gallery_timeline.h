// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/timeline/timeline_data.h"

namespace tunesmith {

// Jobs that take turns on a machine of so many cores, whose measurements share one slot, until there are so many slices.
struct SampleTimeline {
    QVector<TimelineTrack> tracks;
    QVector<TimelineJob> jobs;
    QVector<TimelineSlice> slices; // in the order of their ends
};
SampleTimeline sampleTimeline(int cores, int jobs, int slices);

} // namespace tunesmith
