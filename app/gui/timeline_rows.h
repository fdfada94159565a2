// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/job_sessions.h"
#include "widgets/timeline/timeline_data.h"

namespace tunesmith {

// What the facade says about jobs, as rows of the timeline's views.

// The units of a session's resources as tracks: each core, then the measuring slot, then whatever else there is, such as devices.
class SessionTracks {
public:
    SessionTracks() = default;
    explicit SessionTracks(const std::map<std::string, int>& resources);

    const QVector<TimelineTrack>& tracks() const { return tracks_; }
    QVector<TimelineTrack> addDevices(const std::vector<JobSlice>& slices); // of other machines, which come while a session runs: those that are new, behind all others
    QVector<TimelineSlice> slices(const std::vector<JobSlice>& slices) const; // on the tracks that there are
    QVector<TimelineWait> waits(const std::vector<JobWait>& waits) const;     // likewise

private:
    void add(const std::string& resource, int amount);

    QVector<TimelineTrack> tracks_;
    std::map<std::string, QVector<int>> places_; // tracks of the units of a resource
};

TimelineJob jobRow(const JobStanding& standing); // its key is its number in the store
TimelineJob jobRow(const SessionJob& job, int place); // place among those of the session
QString jobsSummary(const TunedJobs& tuned); // "took 57.1 s; their stages cannot be done in less than 54.4 s; cores busy for 91 %, ..."
QString sessionSummary(const JobSessionSummary& session, const std::map<std::string, double>& utilisation);
QString sessionName(const JobSessionSummary& session); // "Session 12 · 23.11.26 23:10 · 57.1 s · predictive · jobs: 3 · stages: 412"

} // namespace tunesmith
