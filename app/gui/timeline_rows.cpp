// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/timeline_rows.h"
#include "widgets/base/foreign_text.h"
#include <QCoreApplication>
#include <QFileInfo>
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
        for (const int core : slice.cores)
            row.tracks.push_back(core);
        if (row.kind == TimelineSlice::Kind::profile)
            row.tracks.push_back(cores);
        rows.push_back(row);
    }
    return rows;
}

QVector<TimelineJob> jobRows(const TuneJobsRequest& request) {
    QVector<TimelineJob> rows;
    for (const TuneJob& job : request.jobs) {
        TimelineJob row;
        row.key = rows.size();
        row.name = oneLine(job.name.empty() ? QFileInfo(QString::fromStdString(job.model)).completeBaseName() : QString::fromStdString(job.name));
        row.color = static_cast<int>(rows.size());
        row.priority = job.priority;
        rows.push_back(row);
    }
    return rows;
}

void showStanding(TimelineJob& job, const JobStanding& standing, const TuneBudget& budget) {
    using State = TimelineJob::State;
    job.state = !standing.ended ? State::running : standing.cancelled ? State::cancelled : standing.error.empty() ? State::done : State::failed;
    job.problem = oneLine(standing.error, kValueLength);
    job.progress = standing.fraction;
    job.bestMs = standing.bestMs.value_or(std::numeric_limits<double>::quiet_NaN());
    if (standing.ended)
        job.budgetLeft.clear();
    else if (budget.trials)
        job.budgetLeft = text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1 trials")).arg(QLocale().toString(static_cast<qint64>(std::max<std::int64_t>(0, *budget.trials - standing.trials))));
    else
        job.budgetLeft = percent(1 - standing.fraction);
}

QString jobsSummary(const TunedJobs& tuned) {
    QString summary = text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "Took %1; their stages cannot be done in less than %2")).arg(secondsText(tuned.makespan), secondsText(tuned.bound));
    const auto shareOf = [&](const char* resource) {
        const auto found = tuned.utilisation.find(resource);
        return found == tuned.utilisation.end() ? 0 : found->second;
    };
    return summary + text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", ". Cores were busy for %1 of the time, measurements ran for %2.")).arg(percent(shareOf("core")), percent(shareOf("profile")));
}

} // namespace tunesmith
