// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/timeline/timeline_model.h"

namespace tunesmith {

// Some tracks for some time, and what went on there.
struct TimelineArea {
    int firstTrack = 0, lastTrack = -1;
    TimeSpan span;
    bool empty() const { return lastTrack < firstTrack || !(span.length() > 0); }
    bool operator==(const TimelineArea&) const = default;
};

struct StageTotal { // of a job and a kind of stage
    int job = 0;
    TimelineSlice::Kind kind = TimelineSlice::Kind::other;
    qint64 slices = 0;
    double load = 0; // seconds of units: a stage on two cores for one second loads two
    double real = 0, expected = 0; // seconds of those slices of which a time was expected, whole
};

struct TrackTotal {
    int track = 0;
    qint64 slices = 0;
    double busy = 0; // seconds
};

struct IdleTotal {
    QString reason;
    qint64 gaps = 0;
    double seconds = 0; // of all tracks together
};

struct AreaTotals {
    TimelineArea area;
    qint64 slices = 0;          // a slice on several tracks is one
    QVector<StageTotal> stages; // by job, then by kind
    QVector<TrackTotal> tracks;
    QVector<IdleTotal> idle;    // longest first
    double load() const;        // seconds of units
    double unitSeconds() const { return area.span.length() * static_cast<double>(tracks.size()); }
};

// Of slices that reach beyond the area, what lies in it; of what runs, what has run. The longest gaps are explained, the rest is summed up as short ones.
AreaTotals totalsOf(const TimelineModel& model, const TimelineArea& area);

// The same step by step, for a thread that has other things to do: a million slices take too long at once.
class AreaSum {
public:
    AreaSum(const TimelineModel& model, const TimelineArea& area); // borrows the model, to which later slices may be added meanwhile

    bool outdated() const { return generation_ != model_.generation(); } // then it is to be made anew
    bool step(int slices);     // looks at so many, then at one gap each time; false: this was the last
    AreaTotals totals() const; // once all have been looked at

private:
    struct Gap {
        int track = 0;
        TimeSpan span;
    };
    void beginTrack();
    void endTrack();
    void addRunning();
    void add(const IntervalLevels::Interval& one);
    void addGap(TimeSpan span);
    void explain(const Gap& gap);
    QVector<IdleTotal> idle() const;

    const TimelineModel& model_;
    int generation_;
    AreaTotals totals_;
    std::vector<StageTotal> stages_; // by group
    std::vector<Gap> longest_;       // a heap, the shortest of them first
    std::size_t explained_ = 0;      // of them, once there are no more
    QHash<QString, IdleTotal> byReason_;
    qint64 shortGaps_ = 0;
    double shortSeconds_ = 0;
    int track_ = 0;
    std::size_t rank_ = 0; // of the next interval of the track
    TrackTotal sum_;
    double covered_ = 0; // until when the track is accounted for
};

} // namespace tunesmith
