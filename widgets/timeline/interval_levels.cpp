// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/interval_levels.h"
#include <algorithm>
#include <array>

namespace tunesmith {
namespace {

using Interval = IntervalLevels::Interval;
using Piece = IntervalLevels::Piece;

bool earlier(const Interval& a, const Interval& b) {
    return a.begin < b.begin;
}

Piece pieceOf(const Interval& one) {
    const double length = one.end - one.begin;
    return {one.begin, one.end, length, 1, one.item, one.group, length};
}

// Of which group there is most; each piece counts with the group that has most of it.
template <std::size_t Most> class Groups {
public:
    void add(int group, double busy) {
        std::size_t at = 0;
        while (at < count_ && groups_[at] != group)
            ++at;
        if (at == count_) {
            groups_[count_] = group;
            busy_[count_++] = 0;
        }
        busy_[at] += busy;
    }
    void giveTo(Piece& piece) const {
        const auto most = static_cast<std::size_t>(std::max_element(busy_.begin(), busy_.begin() + count_) - busy_.begin());
        piece.group = groups_[most];
        piece.groupBusy = busy_[most];
    }

private:
    std::array<int, Most> groups_{};
    std::array<double, Most> busy_{};
    std::size_t count_ = 0;
};

void extend(Piece& piece, const Piece& by) {
    piece.end = std::max(piece.end, by.end);
    piece.busy += by.busy;
    piece.count += by.count;
}

void merge(Piece& piece, const Piece& by) {
    Groups<2> groups;
    groups.add(piece.group, piece.groupBusy);
    groups.add(by.group, by.groupBusy);
    groups.giveTo(piece);
    extend(piece, by);
}

void show(const Piece& piece, double width, std::vector<Piece>& found) {
    if (!found.empty() && std::max(found.back().end, piece.end) - found.back().begin <= width)
        merge(found.back(), piece);
    else
        found.push_back(piece);
}

} // namespace

void IntervalLevels::add(std::vector<Interval> batch) {
    if (batch.empty())
        return;
    std::stable_sort(batch.begin(), batch.end(), earlier);
    const std::size_t known = intervals_.size();
    const auto stays = static_cast<std::size_t>(std::upper_bound(intervals_.begin(), intervals_.end(), batch.front(), earlier) - intervals_.begin());
    intervals_.insert(intervals_.end(), batch.begin(), batch.end());
    const auto middle = intervals_.begin() + static_cast<std::ptrdiff_t>(known);
    std::inplace_merge(intervals_.begin() + static_cast<std::ptrdiff_t>(stays), middle, intervals_.end(), earlier);
    summarise(stays);
}

void IntervalLevels::summarise(std::size_t from) {
    std::size_t below = intervals_.size();
    for (std::size_t level = 0;; ++level) {
        if (level == levels_.size())
            levels_.emplace_back();
        from /= kFan;
        below = (below + kFan - 1) / kFan;
        levels_[level].resize(below);
        for (std::size_t i = from; i < below; ++i)
            levels_[level][i] = summaryOf(level, i);
        if (below == 1)
            return;
    }
}

Piece IntervalLevels::summaryOf(std::size_t level, std::size_t index) const {
    const std::size_t below = level == 0 ? intervals_.size() : levels_[level - 1].size();
    const std::size_t first = index * kFan, last = std::min(first + kFan, below);
    const auto child = [&](std::size_t i) { return level == 0 ? pieceOf(intervals_[i]) : levels_[level - 1][i]; };
    Piece sum = child(first);
    Groups<kFan> groups;
    groups.add(sum.group, sum.groupBusy);
    for (std::size_t i = first + 1; i < last; ++i) {
        const Piece one = child(i);
        groups.add(one.group, one.groupBusy);
        extend(sum, one);
    }
    groups.giveTo(sum);
    return sum;
}

std::vector<Piece> IntervalLevels::pieces(double begin, double end, double width) const {
    std::vector<Piece> found;
    if (!levels_.empty())
        collect(levels_.size() - 1, 0, begin, end, width, found);
    return found;
}

void IntervalLevels::collect(std::size_t level, std::size_t index, double begin, double end, double width, std::vector<Piece>& found) const {
    const Piece& here = levels_[level][index];
    if (here.end < begin || here.begin > end)
        return;
    if (here.end - here.begin <= width)
        return show(here, width, found);
    const std::size_t below = level == 0 ? intervals_.size() : levels_[level - 1].size();
    for (std::size_t i = index * kFan; i < std::min(index * kFan + kFan, below); ++i)
        if (level > 0)
            collect(level - 1, i, begin, end, width, found);
        else if (intervals_[i].end >= begin && intervals_[i].begin <= end)
            show(pieceOf(intervals_[i]), width, found);
}

std::size_t IntervalLevels::firstAt(double time) const {
    return static_cast<std::size_t>(std::partition_point(intervals_.begin(), intervals_.end(),
        [&](const Interval& one) { return one.begin < time; }) - intervals_.begin());
}

} // namespace tunesmith
