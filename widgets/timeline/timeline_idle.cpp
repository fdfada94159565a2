// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_idle.h"
#include <QCoreApplication>
#include <algorithm>
#include <vector>

namespace tunesmith {
namespace {

QString text(const char* words) {
    return QCoreApplication::translate("tunesmith::TimelineIdle", words);
}

TimeSpan common(TimeSpan a, TimeSpan b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

using Needs = QVector<QPair<QString, int>>; // units of each resource

// A stage that has not ended, and from when to when it waited or waits.
struct OpenWait {
    TimeSpan span;
    int job = 0;
    Needs needs;
    QString lacks; // that has no tracks
};

// The job that loads the unit at that time; -1: none does.
int holderOf(const TimelineModel& model, int track, double time) {
    int found = -1;
    model.onTrack(track).touching(time, time, [&](const IntervalLevels::Interval& one) {
        if (one.begin <= time && one.end > time)
            found = model.slice(one.item).job;
        return true;
    });
    for (const TimelineSlice& slice : model.running())
        if (slice.begin <= time && slice.tracks.contains(track))
            found = slice.job;
    return found;
}

Needs needsOf(const TimelineModel& model, const QVector<int>& tracks) {
    Needs needs;
    for (const int track : tracks) {
        const QString& resource = model.tracks()[track].resource;
        const auto known = std::find_if(needs.begin(), needs.end(), [&](const auto& need) { return need.first == resource; });
        if (known == needs.end())
            needs.push_back({resource, 1});
        else
            ++known->second;
    }
    return needs;
}

bool needs(const Needs& needs, const QString& resource) {
    return std::any_of(needs.begin(), needs.end(), [&](const auto& need) { return need.first == resource; });
}

// The first resource of which more units are needed than were free, and a job that loaded them.
void findLack(const TimelineModel& model, const Needs& needs, double time, IdleGap& gap) {
    for (const auto& [resource, need] : needs) {
        int free = 0, holder = -1;
        for (int track = 0; track < model.tracks().size(); ++track) {
            if (model.tracks()[track].resource != resource)
                continue;
            const int job = holderOf(model, track, time);
            free += job < 0 ? 1 : 0;
            holder = holder < 0 ? job : holder;
        }
        if (need > free) {
            gap.resource = resource;
            gap.holder = holder;
            return;
        }
    }
}

// In the order in which they were called for.
std::vector<OpenWait> openWaits(const TimelineModel& model, const QString& resource) {
    std::vector<OpenWait> waits;
    for (const TimelineSlice& slice : model.running())
        if (const Needs all = needsOf(model, slice.tracks); needs(all, resource))
            waits.push_back({{slice.called, slice.begin}, slice.job, all, {}});
    for (const TimelineWait& wait : model.waiting())
        if (needs(wait.needs, resource))
            waits.push_back({{wait.called, model.span().end}, wait.job, wait.needs, wait.lacks});
    std::stable_sort(waits.begin(), waits.end(), [](const OpenWait& a, const OpenWait& b) { return a.span.begin < b.span.begin; });
    return waits;
}

// Which of several waits is the longest part of a span, and for how long something waited in it.
class LongestWait {
public:
    explicit LongestWait(TimeSpan span) : span_(span), covered_(span.begin) {}

    void look(TimeSpan wait, int slice, const OpenWait* open) { // in the order of their begins
        const TimeSpan shared = common(span_, wait);
        if (!(shared.length() > 0))
            return;
        waited_ += std::max(0.0, shared.end - std::max(shared.begin, covered_));
        covered_ = std::max(covered_, shared.end);
        if (!(shared.length() > longest_.length()))
            return;
        longest_ = shared;
        slice_ = slice;
        open_ = open;
    }
    bool isWhole() const { return !(longest_.length() < span_.length()); }
    bool explains() const { return longest_.length() > 0 && 2 * waited_ >= span_.length(); }
    double middle() const { return (longest_.begin + longest_.end) / 2; }
    int slice() const { return slice_; }
    const OpenWait* open() const { return open_; }

private:
    TimeSpan span_, longest_;
    double covered_, waited_ = 0; // until when it has been looked at, and for how long something was ready until then
    int slice_ = -1;
    const OpenWait* open_ = nullptr;
};

} // namespace

QVector<TimeSpan> idleSpans(const TimelineModel& model, int track, TimeSpan within) {
    QVector<TimeSpan> gaps;
    double done = within.begin;
    const auto occupied = [&](double begin, double end) {
        if (std::min(begin, within.end) > done)
            gaps.push_back({done, std::min(begin, within.end)});
        done = std::max(done, end);
    };
    model.onTrack(track).touching(within.begin, within.end, [&](const IntervalLevels::Interval& one) {
        occupied(one.begin, one.end);
        return true;
    });
    for (const TimelineSlice& slice : model.running())
        if (slice.tracks.contains(track) && slice.begin <= within.end)
            occupied(slice.begin, model.span().end);
    if (within.end > done)
        gaps.push_back({done, within.end});
    return gaps;
}

IdleGap explainIdle(const TimelineModel& model, int track, TimeSpan span) {
    IdleGap gap{track, span, -1, -1, {}, -1, false};
    const QString& resource = model.tracks()[track].resource;
    const IntervalLevels& slices = model.onTrack(track);
    gap.untold = model.untold() && slices.firstAt(span.end) == slices.size();
    const std::vector<OpenWait> open = openWaits(model, resource);
    LongestWait longest(span);
    std::size_t next = 0;
    model.waits().touching(span.begin, span.end, [&](const IntervalLevels::Interval& one) {
        for (; next < open.size() && open[next].span.begin <= one.begin; ++next)
            longest.look(open[next].span, -1, &open[next]);
        if (model.uses(one.item, resource))
            longest.look({one.begin, one.end}, one.item, nullptr);
        return !longest.isWhole();
    });
    for (; next < open.size(); ++next)
        longest.look(open[next].span, -1, &open[next]);
    if (!longest.explains())
        return gap;
    gap.waiting = longest.slice();
    gap.untold = false;
    if (const OpenWait* const wait = longest.open()) {
        gap.job = wait->job;
        findLack(model, wait->needs, longest.middle(), gap);
        gap.resource = gap.resource.isEmpty() ? wait->lacks : gap.resource;
    } else {
        const TimelineSlice waited = model.slice(gap.waiting);
        gap.job = waited.job;
        findLack(model, needsOf(model, waited.tracks), longest.middle(), gap);
    }
    return gap;
}

QString idleReason(const TimelineModel& model, const IdleGap& gap) {
    if (gap.untold)
        return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "what is done there is told once it is done"));
    if (gap.job < 0)
        return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "nothing was ready for it"));
    const QString& who = model.jobs()[gap.job].name;
    if (gap.resource.isEmpty() && gap.waiting < 0 && model.jobs()[gap.job].state == TimelineJob::State::paused)
        return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was ready, but it is paused")).arg(who);
    if (gap.resource.isEmpty())
        return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was ready, but it was not its turn")).arg(who);
    if (gap.holder < 0)
        return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was waiting for %2")).arg(who, gap.resource);
    const QString holder = gap.holder == gap.job ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "the same job")) : model.jobs()[gap.holder].name;
    return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was waiting for %2, held by %3")).arg(who, gap.resource, holder);
}

QString idleText(const TimelineModel& model, const IdleGap& gap) {
    return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was idle for %2: %3"))
        .arg(model.tracks()[gap.track].name, secondsText(gap.span.length()), idleReason(model, gap));
}

} // namespace tunesmith
