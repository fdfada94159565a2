// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_area.h"
#include "widgets/timeline/timeline_idle.h"
#include <QCoreApplication>
#include <QHash>
#include <algorithm>
#include <limits>

namespace tunesmith {
namespace {

constexpr std::size_t kExplained = 400; // gaps; each takes a look at what waited then

} // namespace

double AreaTotals::load() const {
    double sum = 0;
    for (const TrackTotal& track : tracks)
        sum += track.busy;
    return sum;
}

AreaSum::AreaSum(const TimelineModel& model, const TimelineArea& asked) : model_(model), generation_(model.generation()) {
    TimelineArea area = asked;
    area.firstTrack = std::max(area.firstTrack, 0);
    area.lastTrack = std::min(area.lastTrack, static_cast<int>(model.tracks().size()) - 1);
    totals_.area = area.empty() ? TimelineArea() : area;
    stages_.resize(static_cast<std::size_t>(model.jobs().size()) * TimelineSlice::kKinds);
    track_ = totals_.area.firstTrack;
    if (!totals_.area.empty())
        beginTrack();
}

// What began before the area is looked at right here: it is one slice, or few.
void AreaSum::beginTrack() {
    const TimeSpan& span = totals_.area.span;
    sum_ = {track_, 0, 0};
    covered_ = span.begin;
    rank_ = model_.onTrack(track_).firstAt(span.begin);
    model_.onTrack(track_).touching(span.begin, span.begin, [&](const IntervalLevels::Interval& one) {
        if (one.begin < span.begin)
            add(one);
        return true;
    });
}

// What has not ended has its tracks until now. What ended while the sum was made lies in front of it.
void AreaSum::addRunning() {
    const double ended = covered_, until = std::min(totals_.area.span.end, model_.span().end);
    for (const TimelineSlice& slice : model_.running()) {
        const double from = std::max(slice.begin, ended);
        if (!slice.tracks.contains(track_) || !(from < until))
            continue;
        addGap({covered_, from});
        covered_ = until;
        ++sum_.slices;
        sum_.busy += until - from;
        StageTotal& stage = stages_[static_cast<std::size_t>(TimelineModel::groupOf(slice.job, slice.kind))];
        stage.load += until - from;
        const bool before = std::any_of(slice.tracks.begin(), slice.tracks.end(), [this](int track) { return track >= totals_.area.firstTrack && track < track_; });
        stage.slices += before ? 0 : 1;
    }
}

void AreaSum::endTrack() {
    addRunning();
    addGap({covered_, totals_.area.span.end});
    totals_.tracks.push_back(sum_);
    if (++track_ <= totals_.area.lastTrack)
        beginTrack();
}

bool AreaSum::step(int slices) {
    while (track_ <= totals_.area.lastTrack && slices-- > 0) {
        const IntervalLevels& all = model_.onTrack(track_);
        if (rank_ == all.size() || all[rank_].begin > totals_.area.span.end)
            endTrack();
        else
            add(all[rank_++]);
    }
    if (track_ <= totals_.area.lastTrack)
        return true;
    if (explained_ < longest_.size())
        explain(longest_[explained_++]);
    return explained_ < longest_.size();
}

// One is enough for a step: it may look at everything that waited.
void AreaSum::explain(const Gap& gap) {
    const QString reason = idleReason(model_, explainIdle(model_, gap.track, gap.span));
    IdleTotal& sum = byReason_[reason];
    sum = {reason, sum.gaps + 1, sum.seconds + gap.span.length()};
}

void AreaSum::add(const IntervalLevels::Interval& one) {
    const TimeSpan& span = totals_.area.span;
    const double inside = std::min(one.end, span.end) - std::max(one.begin, span.begin);
    addGap({covered_, std::min(one.begin, span.end)});
    covered_ = std::max(covered_, one.end);
    ++sum_.slices;
    sum_.busy += inside;
    StageTotal& stage = stages_[static_cast<std::size_t>(one.group)];
    stage.load += inside;
    if (model_.firstTrackFrom(one.item, totals_.area.firstTrack) != track_)
        return; // a slice counts once: at the first of its tracks that is in the area
    ++stage.slices;
    if (const auto [real, expected] = model_.realAndExpected(one.item); expected > 0) {
        stage.real += real;
        stage.expected += expected;
    }
}

void AreaSum::addGap(TimeSpan span) {
    const auto longer = [](const Gap& a, const Gap& b) { return a.span.length() > b.span.length(); };
    if (!(span.length() > 0))
        return;
    longest_.push_back({track_, span});
    std::push_heap(longest_.begin(), longest_.end(), longer);
    if (longest_.size() <= kExplained)
        return;
    std::pop_heap(longest_.begin(), longest_.end(), longer);
    ++shortGaps_;
    shortSeconds_ += longest_.back().span.length();
    longest_.pop_back();
}

AreaTotals AreaSum::totals() const {
    AreaTotals totals = totals_;
    for (std::size_t group = 0; group < stages_.size(); ++group)
        if (StageTotal stage = stages_[group]; stage.slices > 0) {
            stage.job = TimelineModel::jobOfGroup(static_cast<int>(group));
            stage.kind = TimelineModel::kindOfGroup(static_cast<int>(group));
            totals.slices += stage.slices;
            totals.stages.push_back(stage);
        }
    totals.idle = idle();
    return totals;
}

QVector<IdleTotal> AreaSum::idle() const {
    QVector<IdleTotal> sums(byReason_.begin(), byReason_.end());
    if (shortGaps_ > 0)
        sums.push_back({QCoreApplication::translate("tunesmith::TimelineIdle", "short gaps"), shortGaps_, shortSeconds_});
    std::sort(sums.begin(), sums.end(), [](const IdleTotal& a,
        const IdleTotal& b) { return a.seconds != b.seconds ? a.seconds > b.seconds : a.reason < b.reason; });
    return sums;
}

AreaTotals totalsOf(const TimelineModel& model, const TimelineArea& area) {
    AreaSum sum(model, area);
    while (sum.step(std::numeric_limits<int>::max())) {
    }
    return sum.totals();
}

} // namespace tunesmith
