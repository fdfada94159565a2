// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_model.h"
#include "widgets/base/foreign_text.h"
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

double distance(const IntervalLevels::Interval& one, double time) {
    return time < one.begin ? one.begin - time : std::max(0.0, time - one.end);
}

} // namespace

void TimelineModel::setTracks(const QVector<TimelineTrack>& tracks) {
    const int next = generation_ + 1;
    const bool untold = untold_;
    *this = {};
    generation_ = next;
    untold_ = untold;
    addTracks(tracks);
}

void TimelineModel::addTracks(const QVector<TimelineTrack>& tracks) {
    ++generation_;
    for (const TimelineTrack& track : tracks)
        tracks_.push_back({oneLine(track.name), track.resource});
    onTrack_.resize(static_cast<std::size_t>(tracks_.size()));
}

void TimelineModel::setJobs(const QVector<TimelineJob>& jobs) {
    if (!slices_.empty() && jobs.size() < jobs_.size())
        return;
    if (jobs.size() != jobs_.size())
        ++generation_;
    jobs_ = jobs;
    for (TimelineJob& job : jobs_)
        job.name = oneLine(job.name);
}

bool TimelineModel::sound(const TimelineSlice& slice) const {
    const auto there = [this](int track) { return track >= 0 && track < tracks_.size(); };
    return slice.job >= 0 && slice.job < jobs_.size() && static_cast<int>(slice.kind) < TimelineSlice::kKinds && std::isfinite(slice.called) &&
           std::isfinite(slice.end) &&
           slice.called <= slice.begin && slice.begin <= slice.end && std::abs(slice.called) <= kLatest && slice.end <= kLatest && !slice.tracks.isEmpty() &&
           slice.tracks.size() <= tracks_.size() && std::all_of(slice.tracks.begin(), slice.tracks.end(), there);
}

int TimelineModel::add(const QVector<TimelineSlice>& batch) {
    std::vector<std::vector<IntervalLevels::Interval>> perTrack(onTrack_.size());
    std::vector<IntervalLevels::Interval> waits;
    int refused = 0;
    for (const TimelineSlice& slice : batch) {
        if (!sound(slice)) {
            ++refused;
            continue;
        }
        const int id = size(), group = groupOf(slice.job, slice.kind);
        begin_ = id == 0 ? slice.called : std::min(begin_, slice.called);
        end_ = std::max(end_, slice.end);
        QVector<int> units = slice.tracks;
        std::sort(units.begin(), units.end());
        units.erase(std::unique(units.begin(), units.end()), units.end());
        const double expected = std::isfinite(slice.expected) && slice.expected > 0 ? slice.expected : 0;
        slices_.push_back({slice.called, slice.begin, slice.end, expected, slice.job, slice.kind, static_cast<std::uint32_t>(units_.size()),
            static_cast<std::uint32_t>(units.size())});
        units_.insert(units_.end(), units.begin(), units.end());
        for (const int track : units)
            perTrack[static_cast<std::size_t>(track)].push_back({slice.begin, slice.end, id, group});
        if (slice.called < slice.begin)
            waits.push_back({slice.called, slice.begin, id, group});
    }
    for (std::size_t track = 0; track < perTrack.size(); ++track)
        onTrack_[track].add(std::move(perTrack[track]));
    waits_.add(std::move(waits));
    return refused;
}

void TimelineModel::setRunning(QVector<TimelineSlice> slices) {
    for (TimelineSlice& slice : slices)
        slice.end = slice.begin;
    slices.removeIf([this](const TimelineSlice& slice) { return !sound(slice); });
    std::stable_sort(slices.begin(), slices.end(), [](const TimelineSlice& a, const TimelineSlice& b) { return a.begin < b.begin; });
    running_ = std::move(slices);
}

void TimelineModel::setWaiting(QVector<TimelineWait> waits) {
    waits.removeIf([this](const TimelineWait& wait) {
        return wait.job < 0 || wait.job >= jobs_.size() || static_cast<int>(wait.kind) >= TimelineSlice::kKinds || !(std::abs(wait.called) <= kLatest);
    });
    waiting_ = std::move(waits);
}

void TimelineModel::setNow(double seconds) {
    if (std::isfinite(seconds) && seconds <= kLatest)
        end_ = std::max(end_, seconds);
}

TimelineSlice TimelineModel::slice(int id) const {
    const Stored& kept = stored(id);
    const auto first = units_.begin() + kept.firstUnit;
    return {kept.job, kept.kind, QVector<int>(first, first + kept.units), kept.called, kept.begin, kept.end, kept.expected};
}

int TimelineModel::firstTrackFrom(int id, int track) const {
    const Stored& kept = stored(id);
    const auto first = units_.begin() + kept.firstUnit, last = first + kept.units;
    const auto found = std::lower_bound(first, last, track);
    return found == last ? -1 : *found;
}

bool TimelineModel::uses(int id, const QString& resource) const {
    const Stored& kept = stored(id);
    const auto first = units_.begin() + kept.firstUnit;
    return std::any_of(first, first + kept.units, [&](int track) { return tracks_[track].resource == resource; });
}

int TimelineModel::sliceAt(int track, double time, double tolerance) const {
    int found = -1;
    double nearest = tolerance;
    onTrack(track).touching(time - tolerance, time + tolerance, [&](const IntervalLevels::Interval& one) {
        if (distance(one, time) <= nearest) {
            nearest = distance(one, time);
            found = one.item;
        }
        return true;
    });
    return found;
}

int TimelineModel::nextOnTrack(int track, int id, int by) const {
    const IntervalLevels& slices = onTrack(track);
    std::size_t rank = slices.firstAt(stored(id).begin);
    while (rank < slices.size() && slices[rank].item != id)
        ++rank;
    if (rank == slices.size() || (by < 0 && rank == 0) || (by > 0 && rank + 1 == slices.size()))
        return -1;
    return slices[by > 0 ? rank + 1 : rank - 1].item;
}

int TimelineModel::nearestOnTrack(int track, double time) const {
    const IntervalLevels& slices = onTrack(track);
    if (slices.size() == 0)
        return -1;
    const std::size_t after = slices.firstAt(time);
    if (after == 0)
        return slices[0].item;
    if (after == slices.size())
        return slices[after - 1].item;
    return (distance(slices[after - 1], time) <= distance(slices[after], time) ? slices[after - 1] : slices[after]).item;
}

} // namespace tunesmith
