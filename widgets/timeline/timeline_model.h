// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/timeline/interval_levels.h"
#include "widgets/timeline/timeline_data.h"
#include <utility>

namespace tunesmith {

// The slices of a run, kept so that a million of them can be drawn, found and summed up at once. They are named by the order in which they came: ids
// stay what they are. One thread.
class TimelineModel {
public:
    void setTracks(const QVector<TimelineTrack>& tracks); // forgets all slices
    void addTracks(const QVector<TimelineTrack>& tracks); // behind the others
    void setJobs(const QVector<TimelineJob>& jobs);       // what the slices' jobs are; never fewer than before while there are slices
    // In any order and as often as wanted; those that come as they end cost little. How many were not taken: with times that are no numbers or go
    // backwards, without tracks, or of jobs and tracks that there are not.
    int add(const QVector<TimelineSlice>& batch);
    // What has no end yet, and what has not begun: the newest of all. What is not sound is left out.
    void setRunning(QVector<TimelineSlice> slices);
    void setWaiting(QVector<TimelineWait> waits);
    void setUntold(bool untold) { untold_ = untold; } // what goes on behind the last slice of a track is told by nobody
    void setNow(double seconds); // the run is going on; the time behind the last slice belongs to it

    const QVector<TimelineTrack>& tracks() const { return tracks_; }
    const QVector<TimelineJob>& jobs() const { return jobs_; }
    int generation() const { return generation_; } // another one when ids, tracks or jobs are no longer what they were
    int size() const { return static_cast<int>(slices_.size()); }
    TimeSpan span() const { return {begin_, end_}; }
    const QVector<TimelineSlice>& running() const { return running_; } // in the order of their begins, which are their ends so far
    const QVector<TimelineWait>& waiting() const { return waiting_; }
    bool untold() const { return untold_; }
    TimelineSlice slice(int id) const;
    const TimelineJob& jobOf(int id) const { return jobs_[stored(id).job]; }
    bool sound(const TimelineSlice& slice) const; // add() would take it
    int firstTrackFrom(int id, int track) const; // the first of its tracks that is not before this one; -1: none
    bool uses(int id, const QString& resource) const; // it loads a unit of it
    std::pair<double, double> realAndExpected(int id) const { return {stored(id).end - stored(id).begin, stored(id).expected}; } // seconds

    const IntervalLevels& onTrack(int track) const { return onTrack_[static_cast<std::size_t>(track)]; } // items are ids, groups tell job and kind
    const IntervalLevels& waits() const { return waits_; } // from called to begin, of the slices that waited
    static int groupOf(int job, TimelineSlice::Kind kind) { return job * TimelineSlice::kKinds + static_cast<int>(kind); }
    static int jobOfGroup(int group) { return group / TimelineSlice::kKinds; }
    static TimelineSlice::Kind kindOfGroup(int group) { return static_cast<TimelineSlice::Kind>(group % TimelineSlice::kKinds); }

    int sliceAt(int track, double time, double tolerance) const; // -1: none; the nearest within so many seconds, of those that overlap the later one
    int nextOnTrack(int track, int id, int by) const;            // the slice after (1) or before (-1) it; -1: none
    int nearestOnTrack(int track, double time) const;            // -1: the track is empty

private:
    struct Stored {
        double called = 0, begin = 0, end = 0, expected = 0;
        int job = 0;
        TimelineSlice::Kind kind = TimelineSlice::Kind::other;
        std::uint32_t firstUnit = 0, units = 0; // of units_
    };
    const Stored& stored(int id) const { return slices_[static_cast<std::size_t>(id)]; }

    QVector<TimelineTrack> tracks_;
    QVector<TimelineJob> jobs_;
    std::vector<Stored> slices_;
    std::vector<int> units_;
    std::vector<IntervalLevels> onTrack_;
    IntervalLevels waits_;
    QVector<TimelineSlice> running_;
    QVector<TimelineWait> waiting_;
    bool untold_ = false;
    double begin_ = 0, end_ = 0;
    int generation_ = 0;
};

} // namespace tunesmith
