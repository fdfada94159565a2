// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/timeline_rows.h"
#include "widgets/base/foreign_text.h"
#include "widgets/tune/tune_data.h"
#include <QCoreApplication>
#include <QDateTime>
#include <QLocale>
#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

constexpr const char* kCores = "core";
constexpr const char* kMeasuring = "profile";
constexpr const char *kMemory = "memory", *kNetwork = "network";
constexpr int kMostTracks = 4096; // of devices and all else; in a damaged file there may be anything

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

QString trialsLeft(std::int64_t trials) {
    return text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1 trials")).arg(QLocale().toString(static_cast<qint64>(std::max<std::int64_t>(0, trials))));
}

QString figureText(const std::optional<double>& value, const QString& unit) {
    if (!value)
        return QStringLiteral("–");
    return unit == QLatin1String("ms") ? msText(*value) : QStringLiteral("%1 %2").arg(QLocale().toString(*value, 'g', 6), unit).trimmed();
}

QString outcomeText(const JobOutcome& outcome) {
    if (!outcome.any())
        return {};
    const auto change = [](const std::optional<double>& before, const std::optional<double>& after, const QString& unit) {
        return QStringLiteral("%1 → %2").arg(figureText(before, unit), figureText(after, unit));
    };
    QStringList parts{change(outcome.before, outcome.after, QString::fromStdString(outcome.unit))};
    if (outcome.measuredAfterMs)
        parts << text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "measured %1")).arg(change(outcome.measuredBeforeMs, outcome.measuredAfterMs, QStringLiteral("ms")));
    if (!outcome.remark.empty())
        parts << QString::fromStdString(outcome.remark);
    if (!outcome.file.empty())
        parts << text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "wrote %1")).arg(QString::fromStdString(outcome.file));
    return oneLine(parts.join(QStringLiteral("; ")), kValueLength);
}

QString busyText(const std::map<std::string, double>& utilisation) {
    QStringList shares;
    for (const auto& [resource, share] : utilisation)
        shares << (resource == kCores       ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "cores were busy for %1 of the time")).arg(percent(share))
                   : resource == kMeasuring ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "measurements ran for %1")).arg(percent(share))
                   : resource == kMemory    ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1 of the memory was in use")).arg(percent(share))
                   : resource == kNetwork   ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1 of the network was in use")).arg(percent(share))
                                            : text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1 was busy for %2")).arg(oneLine(resource), percent(share)));
    return shares.join(QStringLiteral(", "));
}

} // namespace

SessionTracks::SessionTracks(const std::map<std::string, int>& resources) {
    for (const char* first : {kCores, kMeasuring})
        if (const auto found = resources.find(first); found != resources.end())
            add(found->first, found->second);
    for (const auto& [resource, amount] : resources)
        if (resource != kCores && resource != kMeasuring)
            add(resource, amount);
}

void SessionTracks::add(const std::string& resource, int amount) {
    const bool cores = resource == kCores, measuring = resource == kMeasuring;
    const QString named = cores ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "core"))
                          : measuring ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "measuring")) : oneLine(resource);
    const QString waitedFor = cores ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "a core"))
                              : measuring ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "the measuring slot")) : oneLine(resource);
    for (int unit = 0; unit < amount; ++unit) {
        places_[resource].push_back(static_cast<int>(tracks_.size()));
        tracks_.push_back({amount == 1 && !cores ? named : QStringLiteral("%1 %2").arg(named).arg(unit), waitedFor});
    }
}

QVector<TimelineTrack> SessionTracks::addDevices(const std::vector<JobSlice>& slices) {
    const qsizetype before = tracks_.size();
    for (const JobSlice& slice : slices)
        for (const auto& [resource, units] : slice.units)
            for (const int unit : units)
                if (isDeviceResource(resource) && unit < kMostTracks)
                    for (int next = static_cast<int>(places_[resource].size()); next <= unit && tracks_.size() < kMostTracks; ++next) {
                        places_[resource].push_back(static_cast<int>(tracks_.size()));
                        const QString name = oneLine(resource);
                        tracks_.push_back({QStringLiteral("%1 %2").arg(name).arg(next), name});
                    }
    return tracks_.mid(before);
}

QVector<TimelineSlice> SessionTracks::slices(const std::vector<JobSlice>& slices) const {
    QVector<TimelineSlice> rows;
    rows.reserve(static_cast<qsizetype>(slices.size()));
    for (const JobSlice& slice : slices) {
        TimelineSlice row{static_cast<int>(slice.job), kindOf(slice.stage), {}, slice.called, slice.begin, slice.end, slice.expected};
        for (const auto& [resource, units] : slice.units)
            if (const auto known = places_.find(resource); known != places_.end())
                for (const int unit : units)
                    if (unit >= 0 && unit < known->second.size())
                        row.tracks.push_back(known->second[unit]);
        rows.push_back(std::move(row));
    }
    return rows;
}

QVector<TimelineWait> SessionTracks::waits(const std::vector<JobWait>& waits) const {
    QVector<TimelineWait> rows;
    for (const JobWait& wait : waits) {
        TimelineWait row{static_cast<int>(wait.job), kindOf(wait.stage), {}, {}, wait.called};
        for (const auto& [resource, amount] : wait.needs)
            if (const auto known = places_.find(resource); known != places_.end() && !known->second.isEmpty())
                row.needs.push_back({tracks_[known->second.front()].resource, amount});
        for (const std::string& resource : wait.lacks)
            if (row.lacks.isEmpty() && !places_.contains(resource))
                row.lacks = resource == kMemory    ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "memory"))
                            : resource == kNetwork ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "the network"))
                                                   : oneLine(resource);
        rows.push_back(std::move(row));
    }
    return rows;
}

TimelineJob jobRow(const JobStanding& standing) {
    using State = TimelineJob::State;
    TimelineJob job;
    job.key = standing.id;
    job.name = oneLine(QString::fromStdString(standing.name));
    job.does = oneLine(standing.does, kValueLength);
    job.color = static_cast<int>(standing.job);
    job.priority = standing.priority;
    job.state = standing.ended ? standing.cancelled ? State::cancelled : standing.error.empty() ? State::done : State::failed
                : standing.paused ? State::paused : standing.running ? State::running : State::waiting;
    job.problem = oneLine(standing.error, kValueLength);
    job.progress = standing.fraction;
    job.bestMs = standing.bestMs.value_or(std::numeric_limits<double>::quiet_NaN());
    job.result = outcomeText(standing.outcome);
    if (!standing.ended)
        job.budgetLeft = standing.budget.trials ? trialsLeft(*standing.budget.trials - standing.trials) : percent(1 - standing.fraction);
    return job;
}

TimelineJob jobRow(const SessionJob& stored, int place) {
    using State = TimelineJob::State;
    const QueuedJob& queued = stored.job;
    TimelineJob job;
    job.key = queued.id;
    job.name = oneLine(QString::fromStdString(queued.name));
    job.does = oneLine(queued.does, kValueLength);
    job.color = place;
    job.priority = queued.priority;
    job.state = queued.state == "running" ? State::running : queued.state == "paused" ? State::paused : queued.state == "done" ? State::done
                : queued.state == "failed" ? State::failed : queued.state == "cancelled" ? State::cancelled : State::waiting;
    job.problem = oneLine(queued.detail, kValueLength);
    if (queued.state == "interrupted")
        job.problem = text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "The program that ran it was killed; whoever runs the waiting jobs next goes on with it."));
    job.progress = queued.progress;
    job.bestMs = stored.bestMs.value_or(std::numeric_limits<double>::quiet_NaN());
    if (queued.outcome)
        job.result = outcomeText(*queued.outcome);
    if (!job.ended())
        job.budgetLeft = queued.budget.trials ? trialsLeft(std::llround(static_cast<double>(*queued.budget.trials) * (1 - queued.progress))) : percent(1 - queued.progress);
    return job;
}

QString jobsSummary(const TunedJobs& tuned) {
    const QString summary = text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "Took %1; their stages cannot be done in less than %2")).arg(secondsText(tuned.timeline.makespan()), secondsText(tuned.bound));
    return text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1; %2.")).arg(summary, busyText(tuned.utilisation));
}

QString sessionSummary(const JobSessionSummary& session, const std::map<std::string, double>& utilisation) {
    const QString summary = session.running ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "Runs in another program for %1; stages that have ended: %2"))
                            : session.endedAt ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "Took %1; stages: %2"))
                                              : text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "Its program was killed after %1; stages: %2"));
    const QString counted = summary.arg(secondsText(session.running ? std::floor(session.seconds) : session.seconds), QLocale().toString(static_cast<qint64>(session.slices)));
    return session.slices == 0 ? counted + QLatin1Char('.') : text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "%1; %2.")).arg(counted, busyText(utilisation));
}

QString sessionName(const JobSessionSummary& session) {
    QStringList parts{text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "Session %1")).arg(session.id),
        QLocale().toString(QDateTime::fromMSecsSinceEpoch(session.startedAt), QLocale::ShortFormat), secondsText(session.seconds), oneLine(session.policy),
        text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "jobs: %1")).arg(session.jobs),
        text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "stages: %1")).arg(QLocale().toString(static_cast<qint64>(session.slices)))};
    if (!session.endedAt)
        parts << (session.running ? text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "running")) : text(QT_TRANSLATE_NOOP("tunesmith::TimelineRows", "killed")));
    return parts.join(QStringLiteral(" · "));
}

} // namespace tunesmith
