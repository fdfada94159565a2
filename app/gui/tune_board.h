// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/history.h"
#include "core/workbench/tune.h"
#include "widgets/tune/convergence_plot.h"
#include "widgets/tune/roofline_plot.h"
#include <QHash>

namespace tunesmith {

TrialPoint pointOf(const TuneTrial& trial);

// What is known about one stored run, converted for the views away from the window's thread.
struct StoredCurve {
    WorkloadEntry entry;
    QVector<TrialPoint> points;
};
QVector<StoredCurve> storedCurves(const std::vector<RunCurve>& curves);

// The rows of the Tune page while trials arrive: plain data, no widgets.
class TuneBoard {
public:
    void clear();
    void restart(); // the rows stay, what was measured goes
    void
    setTasks(const std::vector<TuningTask>& tasks); // keeps what was measured; other rows without trials go
    void setStored(const QVector<StoredCurve>& curves); // adds what the tasks do not name
    void add(const TuneTrial& trial);
    void setDone(const QString& key);
    void finish(WorkloadState state); // what runs or waits with trials becomes `state`; full ones are done

    const QVector<WorkloadEntry>& rows() const { return rows_; }
    QVector<PlotSeries> series() const;
    QVector<RooflineKernel> kernels() const; // the best of each workload that the tasks name
    const QVector<TrialPoint>& points(const QString& key) const;
    int trials() const { return trials_; }
    int failed() const { return failed_; }

private:
    WorkloadEntry& row(const QString& key);
    void dropOthers(const std::vector<TuningTask>& tasks);

    QVector<WorkloadEntry> rows_;
    QHash<QString, int> byKey_;
    QHash<QString, QVector<TrialPoint>> points_;
    struct Task {
        double flops = 0, bytes = 0;
        int count = 1;
    };
    QHash<QString, Task> tasks_;
    int trials_ = 0, failed_ = 0;
};

} // namespace tunesmith
