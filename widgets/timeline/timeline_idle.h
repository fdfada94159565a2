// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "widgets/timeline/timeline_model.h"

namespace tunesmith {

// Why a unit had nothing to do: what was ready and could have used it waited for something else, or for most of the time nothing was ready. What waits now counts like what waited.
struct IdleGap {
    int track = 0;
    TimeSpan span;
    int job = -1;     // of the stage that waited for the longest part of it, of those that load a unit of the same resource; -1: mostly none was ready
    int waiting = -1; // that stage's slice; -1: none was ready, or it has not ended
    QString resource; // of which it lacked units; empty: there were enough, but its turn had not come
    int holder = -1;  // a job that had them
    bool untold = false; // nobody says what goes on there
};

// Where the track did nothing within the span, in order.
QVector<TimeSpan> idleSpans(const TimelineModel& model, int track, TimeSpan within);
IdleGap explainIdle(const TimelineModel& model, int track, TimeSpan gap);
QString idleReason(const TimelineModel& model, const IdleGap& gap); // "resnet18 was waiting for profile, held by mnist"
QString idleText(const TimelineModel& model, const IdleGap& gap);   // "core 1 was idle for 1.20 s: ..."

} // namespace tunesmith
