// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/timeline_rows.h"
#include "widgets/base/foreign_text.h"
#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

QString text(const char* words) {
    return QCoreApplication::translate("tunesmith::TimelineRows", words);
}

TimelineSlice::Kind kindOf(const std::string& stage) {
    using Kind = TimelineSlice::Kind;
    return stage == "build" ? Kind::build : stage == "profile" ? Kind::profile : stage == "update" ? Kind::update : Kind::other;
}

QString percent(double share) {
    return text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1 %")).arg(std::lround(100 * share));
}

} // namespace

QVector<TimelineTrack> jobTracks(int cores) {
    QVector<TimelineTrack> tracks;
    for (int core = 0; core < cores; ++core)
        tracks.push_back({text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "core %1")).arg(core), text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "a core"))});
    const QString slot = text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "measuring"));
    tracks.push_back({slot, text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "the measuring slot"))});
    return tracks;
}

QVector<TimelineSlice> jobSlices(const std::vector<JobSlice>& slices, int cores) {
    QVector<TimelineSlice> rows;
    for (const JobSlice& slice : slices) {
        TimelineSlice row{static_cast<int>(slice.job), kindOf(slice.stage), {}, slice.called, slice.begin, slice.end, slice.expected};
        for (const int core : slice.cores())
            row.tracks.push_back(core);
        if (row.kind == TimelineSlice::Kind::profile)
            row.tracks.push_back(cores);
        rows.push_back(row);
    }
    return rows;
}

TimelineJob jobRow(const JobStanding& standing) {
    using State = TimelineJob::State;
    TimelineJob job;
    job.key = standing.id;
    job.name = oneLine(QString::fromStdString(standing.name));
    job.color = static_cast<int>(standing.job);
    job.priority = standing.priority;
    job.state = standing.ended ? standing.cancelled ? State::cancelled : standing.error.empty() ? State::done : State::failed
                : standing.paused ? State::paused : standing.running ? State::running : State::waiting;
    job.problem = oneLine(standing.error, kValueLength);
    job.progress = standing.fraction;
    job.bestMs = standing.bestMs.value_or(std::numeric_limits<double>::quiet_NaN());
    if (standing.ended)
        return job;
    if (standing.budget.trials)
        job.budgetLeft = text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1 trials")).arg(QLocale().toString(static_cast<qint64>(std::max<std::int64_t>(0, *standing.budget.trials - standing.trials))));
    else
        job.budgetLeft = percent(1 - standing.fraction);
    return job;
}

QString jobsSummary(const TunedJobs& tuned) {
    QString summary = text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "Took %1; their stages cannot be done in less than %2")).arg(secondsText(tuned.timeline.makespan()), secondsText(tuned.bound));
    const auto shareOf = [&](const char* resource) {
        const auto found = tuned.utilisation.find(resource);
        return found == tuned.utilisation.end() ? 0 : found->second;
    };
    return summary + text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", ". Cores were busy for %1 of the time, measurements ran for %2.")).arg(percent(shareOf("core")), percent(shareOf("profile")));
}

} // namespace tunesmith
