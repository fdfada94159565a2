// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

namespace tunesmith {

// Intervals of time in the order of their begins, with summaries of eight, of 64, of 512 ... of them. What a screen can show of a million, what
// lies in a range and what lies at a point are found by looking at the few summaries that matter: a mip-map that is as fine as what it is about.
class IntervalLevels {
public:
    struct Interval {
        double begin = 0, end = 0;
        int item = 0;  // the caller's
        int group = 0; // what may be drawn alike
    };
    // What one place on the screen shows: an interval, or several that cannot be told apart there.
    struct Piece {
        double begin = 0, end = 0;
        double busy = 0;  // the sum of their lengths
        int count = 0;
        int item = 0;     // of the interval, where it is one
        int group = 0;    // that has most of it
        double groupBusy = 0;
    };

    // In any order; those that come in the order of their begins cost little. No NaN, none ends before it begins.
    void add(std::vector<Interval> batch);
    std::size_t size() const { return intervals_.size(); }
    const Interval& operator[](std::size_t rank) const { return intervals_[rank]; }
    const std::vector<Interval>& all() const { return intervals_; }

    // What is seen of [begin, end] where `width` seconds make a pixel, from left to right: at most two pieces for each.
    std::vector<Piece> pieces(double begin, double end, double width) const;
    // Calls visit(interval) for those that touch [begin, end], in order, as long as it returns true.
    template <class Visit> void touching(double begin, double end, Visit visit) const;
    std::size_t firstAt(double time) const; // the rank of the first that begins then or later

private:
    static constexpr std::size_t kFan = 8;
    using Level = std::vector<Piece>;

    void summarise(std::size_t from);
    Piece summaryOf(std::size_t level, std::size_t index) const;
    template <class Visit> bool visitBelow(std::size_t level, std::size_t index, double begin, double end, Visit& visit) const;
    void collect(std::size_t level, std::size_t index, double begin, double end, double width, std::vector<Piece>& found) const;

    std::vector<Interval> intervals_;
    std::vector<Level> levels_; // a piece of level 0 is about kFan intervals, one of level n + 1 about kFan of level n; the last level has one
};

template <class Visit> void IntervalLevels::touching(double begin, double end, Visit visit) const {
    if (!levels_.empty())
        visitBelow(levels_.size() - 1, 0, begin, end, visit);
}

template <class Visit> bool IntervalLevels::visitBelow(std::size_t level, std::size_t index, double begin, double end, Visit& visit) const {
    const Piece& here = levels_[level][index];
    if (here.end < begin)
        return true;
    if (here.begin > end)
        return false; // and so do all that follow
    const std::size_t below = level == 0 ? intervals_.size() : levels_[level - 1].size();
    const std::size_t last = index * kFan + kFan < below ? index * kFan + kFan : below;
    for (std::size_t i = index * kFan; i < last; ++i) {
        if (level > 0) {
            if (!visitBelow(level - 1, i, begin, end, visit))
                return false;
        } else if (intervals_[i].begin > end) {
            return false;
        } else if (intervals_[i].end >= begin && !visit(intervals_[i])) {
            return false;
        }
    }
    return true;
}

} // namespace tunesmith
