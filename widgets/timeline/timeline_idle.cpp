// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/timeline/timeline_idle.h"
#include <QCoreApplication>
#include <algorithm>

namespace tunesmith {
namespace {

QString text(const char* words) {
    return QCoreApplication::translate("tunesmith::TimelineIdle", words);
}

TimeSpan common(TimeSpan a, TimeSpan b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// What loads the unit at that time; -1: nothing does.
int loadOf(const TimelineModel& model, int track, double time) {
    int found = -1;
    model.onTrack(track).touching(time, time, [&](const IntervalLevels::Interval& one) {
        if (one.begin <= time && one.end > time)
            found = one.item;
        return true;
    });
    return found;
}

// The first resource of which the slice needs more units than were free, and a job that loaded them.
void findLack(const TimelineModel& model, const TimelineSlice& slice, double time, IdleGap& gap) {
    for (const int needed : slice.tracks) {
        const QString& resource = model.tracks()[needed].resource;
        int need = 0, free = 0, holder = -1;
        for (int track = 0; track < model.tracks().size(); ++track) {
            if (model.tracks()[track].resource != resource)
                continue;
            need += slice.tracks.contains(track) ? 1 : 0;
            const int load = loadOf(model, track, time);
            if (load < 0)
                ++free;
            else if (holder < 0)
                holder = model.slice(load).job;
        }
        if (need > free) {
            gap.resource = resource;
            gap.holder = holder;
            return;
        }
    }
}

} // namespace

QVector<TimeSpan> idleSpans(const TimelineModel& model, int track, TimeSpan within) {
    QVector<TimeSpan> gaps;
    double done = within.begin;
    model.onTrack(track).touching(within.begin, within.end, [&](const IntervalLevels::Interval& one) {
        if (one.begin > done)
            gaps.push_back({done, one.begin});
        done = std::max(done, one.end);
        return true;
    });
    if (within.end > done)
        gaps.push_back({done, within.end});
    return gaps;
}

IdleGap explainIdle(const TimelineModel& model, int track, TimeSpan span) {
    IdleGap gap{track, span, -1, {}, -1};
    const QString& resource = model.tracks()[track].resource;
    TimeSpan longest;
    double covered = span.begin, waited = 0; // until when it has been looked at, and for how long something was ready until then
    model.waits().touching(span.begin, span.end, [&](const IntervalLevels::Interval& one) {
        const TimeSpan shared = common(span, {one.begin, one.end});
        if (!(shared.length() > 0) || !model.uses(one.item, resource))
            return true;
        waited += std::max(0.0, shared.end - std::max(shared.begin, covered));
        covered = std::max(covered, shared.end);
        if (shared.length() > longest.length()) {
            longest = shared;
            gap.waiting = one.item;
        }
        return longest.length() < span.length();
    });
    if (2 * waited < span.length())
        gap.waiting = -1;
    if (gap.waiting >= 0)
        findLack(model, model.slice(gap.waiting), (longest.begin + longest.end) / 2, gap);
    return gap;
}

QString idleReason(const TimelineModel& model, const IdleGap& gap) {
    if (gap.waiting < 0)
        return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "nothing was ready for it"));
    const TimelineSlice waiting = model.slice(gap.waiting);
    const QString& who = model.jobs()[waiting.job].name;
    if (gap.resource.isEmpty())
        return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was ready, but it was not its turn")).arg(who);
    if (gap.holder < 0)
        return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was waiting for %2")).arg(who, gap.resource);
    const QString holder = gap.holder == waiting.job ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "the same job")) : model.jobs()[gap.holder].name;
    return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was waiting for %2, held by %3")).arg(who, gap.resource, holder);
}

QString idleText(const TimelineModel& model, const IdleGap& gap) {
    return text(QT_TRANSLATE_NOOP("tunesmith::TimelineIdle", "%1 was idle for %2: %3"))
        .arg(model.tracks()[gap.track].name, secondsText(gap.span.length()), idleReason(model, gap));
}

} // namespace tunesmith
