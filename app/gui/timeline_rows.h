// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/tune_jobs.h"
#include "widgets/timeline/timeline_data.h"

namespace tunesmith {

// What the facade says about jobs, as rows of the timeline's views.
QVector<TimelineTrack> jobTracks(int cores); // each core, and after them the slot for measurements
QVector<TimelineSlice> jobSlices(const std::vector<JobSlice>& slices, int cores);
TimelineJob jobRow(const JobStanding& standing); // its key is its number in the store
QString jobsSummary(const TunedJobs& tuned); // "took 57.1 s; their stages cannot be done in less than 54.4 s; cores busy for 91 %, ..."

} // namespace tunesmith
