// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/sweep_dock.h"
#include "widgets/base/foreign_text.h"
#include <QDir>
#include <QFileInfo>

namespace tunesmith {
namespace {

TimelineJob::State stateOf(const std::string& state) {
    using State = TimelineJob::State;
    return state == "running" ? State::running : state == "paused" ? State::paused : state == "done" ? State::done : state == "failed" ? State::failed
           : state == "cancelled" || state == "removed" ? State::cancelled : State::waiting;
}

double numberOf(const std::optional<double>& value) {
    return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

// As it stands before anything is known of its jobs.
SweepTable emptyTable(const SweepPlan& plan) {
    SweepTable table{plan.request.keys, {}};
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) {
        const SweepCombination& one = plan.request.combinations[i];
        table.rows.push_back({plan.jobs[i], one.values, "queued", std::max(1, one.job.tuning.threads), 0, 0, 0, {}, {}, "", ""});
    }
    return table;
}

} // namespace

SweepEntry sweepEntry(const SweepTable& table, const SweepRow& row, int leg) {
    SweepEntry entry;
    entry.key = QStringLiteral("%1/%2").arg(row.job).arg(leg);
    entry.subject = QString::number(row.threads);
    for (std::size_t i = 0; i < row.values.size(); ++i) {
        entry.values << QString::fromStdString(row.values[i]);
        if (table.keys[i] == "model" || table.keys[i] == "dims")
            entry.subject += QLatin1Char('\n') + entry.values.back();
        if (table.keys[i] == "model")
            entry.values.back() = QFileInfo(entry.values.back()).fileName();
    }
    entry.threads = row.threads;
    entry.state = stateOf(row.state);
    entry.problem = oneLine(row.error, kValueLength);
    entry.trials = row.trials;
    entry.failed = row.failed;
    entry.seconds = row.seconds;
    entry.beforeMs = numberOf(row.beforeMs);
    entry.afterMs = numberOf(row.afterMs);
    return entry;
}

SweepDock::SweepDock(QWidget* parent) : SweepPanel(parent) {
    soon_.setSingleShot(true);
    soon_.setInterval(kReadMs);
    connect(&soon_, &QTimer::timeout, this, &SweepDock::read);
    connect(&reading_, &Job::failed, this, &SweepDock::problem);
    connect(&writing_, &Job::failed, this, &SweepDock::problem);
}

void SweepDock::begin(std::shared_ptr<const SweepPlan> plan) {
    plan_ = std::move(plan);
    entries_.clear();
    QStringList keys;
    for (const std::string& key : plan_->request.keys)
        keys << QString::fromStdString(key);
    const SweepTable table = emptyTable(*plan_);
    QVector<SweepEntry> entries;
    for (const SweepRow& row : table.rows)
        entries.push_back(entries_[row.job].emplace_back(sweepEntry(table, row, 0)));
    setSweep(QString::fromStdString(plan_->request.name), keys, entries);
    setRunning(true);
    changed_ = {plan_->jobs.begin(), plan_->jobs.end()};
    read();
}

void SweepDock::noteChange(qint64 job) {
    if (!plan_ || !entries_.contains(job))
        return;
    changed_.insert(job);
    if (!soon_.isActive())
        soon_.start();
}

void SweepDock::end() {
    setRunning(false);
    if (plan_ && !changed_.empty())
        read();
}

void SweepDock::read() {
    if (reading_.running())
        return soon_.start(); // once that one has ended
    soon_.stop();
    reading_.start(
        tr("Reading a sweep"), [plan = plan_, only = std::exchange(changed_, {})](const Work& work) { return std::pair(plan, sweepTable(*plan, only, work)); },
        [this](const std::pair<std::shared_ptr<const SweepPlan>, Result<SweepTable>>& read) {
            if (read.first != plan_)
                return; // of a sweep before
            if (read.second.ok())
                merge(*read.second);
            else if (!read.second.error().isCancelled())
                emit problem(QString::fromStdString(read.second.error().message));
        });
}

void SweepDock::merge(const SweepTable& table) {
    std::map<std::int64_t, QVector<SweepEntry>> fresh;
    for (const SweepRow& row : table.rows) {
        QVector<SweepEntry>& legs = fresh[row.job];
        legs.push_back(sweepEntry(table, row, static_cast<int>(legs.size())));
    }
    for (auto& [job, legs] : fresh)
        entries_[job] = std::move(legs);
    QVector<SweepEntry> entries;
    for (const std::int64_t job : plan_->jobs)
        entries += entries_[job];
    setEntries(entries);
}

void SweepDock::exportTo(const QString& path) {
    if (!plan_)
        return;
    writing_.start(
        tr("Writing %1").arg(QFileInfo(path).fileName()),
        [plan = plan_, path](const Work& work) -> Status {
            TS_ASSIGN(const SweepTable table, sweepTable(*plan, {}, work));
            return exportSweep(table, path.toStdString());
        },
        [this, path](const Status& written) {
            if (written.ok())
                emit saved(tr("Saved %1.").arg(QDir::toNativeSeparators(path)));
            else if (!written.error().isCancelled())
                emit problem(QString::fromStdString(written.error().message));
        });
}

} // namespace tunesmith
