// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/timeline/timeline_data.h"
#include <QPair>

namespace tunesmith {

// The pure part of TimelineView: time across, tracks downward. Pixels are those of the area that shows slices.

// Which time stands at which x. What is no number, and what would leave the range that a double resolves, changes nothing.
class TimeScale {
public:
    TimeScale() = default;
    static TimeScale fitting(TimeSpan all, double width); // with a little room at both ends; a span of no length is shown in the middle of a second

    double toX(double time) const { return (time - begin_) / perPixel_; }
    double toTime(double x) const { return begin_ + x * perPixel_; }
    TimeSpan shown() const { return {begin_, begin_ + perPixel_ * width_}; }
    double secondsPerPixel() const { return perPixel_; }
    double width() const { return width_; }

    TimeScale withWidth(double width) const;             // the time at the left stays
    TimeScale zoomedAt(double x, double factor) const;   // more than 1: closer; the time at x stays
    TimeScale movedBy(double pixels) const;              // later times come into view
    TimeScale showing(TimeSpan span) const;              // the least movement that shows it; farther away if need be
    TimeScale clampedTo(TimeSpan all) const;             // no farther away than all of it, and no emptiness but a little at the ends
    bool operator==(const TimeScale&) const = default;

private:
    TimeScale(double begin, double perPixel, double width) : begin_(begin), perPixel_(perPixel), width_(width) {}
    static TimeScale checked(const TimeScale& made, const TimeScale& otherwise);

    double begin_ = 0, perPixel_ = 0.01, width_ = 100;
};

struct TimeTick {
    double time = 0;
    QString label;
};
double niceStep(double least); // of the steps of 1, 2 and 5, of clocks and of calendars the smallest that is not below `least` seconds
// Of the axis, at least so many pixels apart. Labels tell neighbours apart at every scale.
QVector<TimeTick> timeTicks(const TimeScale& scale, double leastPixels);

// Which track stands at which y: rows of one height, those of a resource together.
class TrackRows {
public:
    TrackRows() = default;
    TrackRows(const QVector<TimelineTrack>& tracks, double height); // of the area, which tracks share: each as high as is good to see

    static constexpr double kLowest = 18, kHighest = 56, kGap = 3, kResourceGap = 10;

    int size() const { return static_cast<int>(tops_.size()); }
    double rowHeight() const { return rowHeight_; }
    double top(int track) const { return tops_[track]; }
    double bottom(int track) const { return tops_[track] + rowHeight_; }
    double height() const { return size() == 0 ? 0 : bottom(size() - 1) + kGap; }
    int trackAt(double y) const;                                   // -1: none
    QPair<int, int> tracksIn(double top, double bottom) const; // first, and behind the last

private:
    QVector<double> tops_;
    double rowHeight_ = kHighest;
};

} // namespace tunesmith
