// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tune_board.h"
#include "widgets/base/foreign_text.h"
#include <QSet>
#include <algorithm>
#include <cmath>
#include <limits>

namespace tunesmith {
namespace {

constexpr int kSparkPoints = 400; // more than a sparkline has pixels

QString keyOf(const std::string& workload) {
    return QString::fromStdString(workload);
}

// A space may hold fewer configs than the budget allows.
int attainable(std::int64_t budget, double space) {
    const double most = std::clamp(static_cast<double>(budget), 0.0, double(std::numeric_limits<int>::max()));
    return static_cast<int>(space > 0 && space < most ? space : most);
}

void extend(WorkloadEntry& row, const TrialPoint& point) {
    ++row.done;
    if (row.budget > 0) // the untuned schedule may come on top of it
        row.budget = std::max(row.budget, row.done);
    if (!point.failed && std::isnan(row.firstMs))
        row.firstMs = point.ms;
    if (!point.failed && !(row.bestMs <= point.ms))
        row.bestMs = point.ms;
    row.bestSoFar.push_back(row.bestMs);
    if (row.bestSoFar.size() > kSparkPoints)
        for (int i = 0; i < kSparkPoints / 2; ++i)
            row.bestSoFar.remove(i);
}

} // namespace

// A store from elsewhere may number its trials as it likes.
int placeOf(std::int64_t index) {
    return static_cast<int>(std::clamp<std::int64_t>(index, 0, std::numeric_limits<int>::max()));
}

TrialPoint pointOf(const TuneTrial& trial) {
    return {placeOf(trial.index), trial.ms.value_or(kUnknown), !trial.ms, trial.predicted.value_or(kUnknown)};
}

QVector<StoredCurve> storedCurves(const std::vector<RunCurve>& curves) {
    QVector<StoredCurve> list;
    for (const RunCurve& curve : curves) {
        StoredCurve stored;
        WorkloadEntry& row = stored.entry;
        row.key = keyOf(curve.workload);
        row.name = oneLine(curve.name);
        row.op = oneLine(curve.op);
        row.shape = oneLine(curve.shape);
        row.space = curve.space;
        row.budget = attainable(curve.budget, curve.space);
        for (const RunPoint& point : curve.points)
            stored.points.push_back({placeOf(point.index), point.ms.value_or(kUnknown), !point.ms, point.predicted.value_or(kUnknown)});
        std::ranges::stable_sort(stored.points, {}, &TrialPoint::index);
        for (const TrialPoint& point : stored.points)
            extend(row, point);
        row.firstMs = curve.firstMs.value_or(row.firstMs);
        row.bestMs = curve.bestMs.value_or(row.bestMs); // what a final chose may have looked slower than a lucky trial
        if (row.bestMs > 0)
            row.gflops = curve.flops / row.bestMs / 1e6;
        row.state = row.done == 0 ? WorkloadState::waiting : WorkloadState::done;
        list.push_back(std::move(stored));
    }
    return list;
}

void TuneBoard::clear() {
    *this = {};
}

void TuneBoard::restart() {
    for (WorkloadEntry& known : rows_) {
        WorkloadEntry fresh;
        fresh.key = known.key;
        fresh.name = known.name;
        fresh.op = known.op;
        fresh.shape = known.shape;
        fresh.space = known.space;
        known = fresh;
    }
    points_.clear();
    trials_ = failed_ = 0;
}

WorkloadEntry& TuneBoard::row(const QString& key) {
    if (const auto found = byKey_.constFind(key); found != byKey_.constEnd())
        return rows_[*found];
    byKey_.insert(key, static_cast<int>(rows_.size()));
    rows_.push_back({});
    rows_.back().key = rows_.back().name = key;
    return rows_.back();
}

void TuneBoard::dropOthers(const std::vector<TuningTask>& tasks) {
    QSet<QString> named;
    for (const TuningTask& task : tasks)
        named.insert(keyOf(task.key));
    rows_.removeIf([&](const WorkloadEntry& known) { return known.done == 0 && !named.contains(known.key); });
    byKey_.clear();
    for (int i = 0; i < rows_.size(); ++i)
        byKey_.insert(rows_[i].key, i);
}

void TuneBoard::setTasks(const std::vector<TuningTask>& tasks) {
    dropOthers(tasks);
    for (const TuningTask& task : tasks) {
        WorkloadEntry& known = row(keyOf(task.key));
        known.name = oneLine(task.nodes.empty() ? task.name : task.nodes.front());
        if (task.count > 1)
            known.name += QStringLiteral(" (%1×)").arg(task.count);
        known.op = oneLine(task.op);
        known.shape = oneLine(task.shape);
        known.space = task.space;
        const bool full = known.budget > 0 && known.done >= known.budget;
        known.state = full ? WorkloadState::done : WorkloadState::waiting;
        tasks_[known.key] = {static_cast<double>(task.flops), static_cast<double>(task.bytes), static_cast<int>(task.count)};
    }
}

void TuneBoard::setStored(const QVector<StoredCurve>& curves) {
    for (const StoredCurve& curve : curves) {
        WorkloadEntry& known = row(curve.entry.key);
        trials_ += curve.entry.done - known.done;
        const QString name = tasks_.contains(known.key) ? known.name : curve.entry.name;
        known = curve.entry;
        known.name = name;
        points_[known.key] = curve.points;
        for (const TrialPoint& point : curve.points)
            failed_ += point.failed;
    }
}

void TuneBoard::add(const TuneTrial& trial) {
    WorkloadEntry& known = row(keyOf(trial.workload));
    const TrialPoint point = pointOf(trial);
    extend(known, point);
    if (trial.firstMs)
        known.firstMs = *trial.firstMs;
    if (trial.bestMs)
        known.bestMs = *trial.bestMs;
    if (trial.budget > 0)
        known.budget = attainable(trial.budget, known.space);
    if (const double flops = tasks_.value(known.key).flops; flops > 0 && known.bestMs > 0)
        known.gflops = flops / known.bestMs / 1e6;
    points_[known.key].push_back(point);
    known.state =
        known.budget > 0 && known.done >= known.budget ? WorkloadState::done : WorkloadState::running;
    ++trials_;
    failed_ += point.failed;
}

void TuneBoard::setDone(const QString& key) {
    row(key).state = WorkloadState::done;
}

void TuneBoard::finish(WorkloadState state) {
    for (WorkloadEntry& known : rows_)
        if (known.done > 0 && known.state != WorkloadState::done)
            known.state = known.budget > 0 && known.done >= known.budget ? WorkloadState::done : state;
}

const QVector<TrialPoint>& TuneBoard::points(const QString& key) const {
    static const QVector<TrialPoint> none;
    const auto found = points_.constFind(key);
    return found == points_.constEnd() ? none : *found;
}

QVector<RooflineKernel> TuneBoard::kernels() const {
    QVector<RooflineKernel> list;
    for (const WorkloadEntry& known : rows_)
        if (const auto task = tasks_.constFind(known.key); task != tasks_.constEnd())
            list.push_back({known.key, known.name, task->flops, task->bytes, known.bestMs, task->count});
    return list;
}

QVector<PlotSeries> TuneBoard::series() const {
    QVector<PlotSeries> list;
    for (const WorkloadEntry& known : rows_)
        list.push_back({known.key, known.name});
    return list;
}

} // namespace tunesmith
