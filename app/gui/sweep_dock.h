// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "core/workbench/sweep.h"
#include "widgets/timeline/sweep_panel.h"

namespace tunesmith {

SweepEntry sweepEntry(const SweepTable& table, const SweepRow& row, int leg); // leg: which of its job's thread counts

// The sweep that was run last. Its rows are read from the store: all of them when it begins, those of jobs that got on now and then.
class SweepDock : public SweepPanel {
    Q_OBJECT
public:
    static constexpr int kReadMs = 2000; // between two looks: reading takes time from what is measured

    explicit SweepDock(QWidget* parent = nullptr);

    void begin(std::shared_ptr<const SweepPlan> plan); // runs from now on
    void noteChange(qint64 job);
    void end(); // runs no more
    void exportTo(const QString& path);
    bool reading() const { return reading_.running() || soon_.isActive(); }
    QList<Job*> jobs() { return {&writing_}; }
    QList<Job*> quietJobs() { return {&reading_}; } // of which nobody needs to see the progress

signals:
    void problem(const QString& text);
    void saved(const QString& text);

private:
    void read();
    void merge(const SweepTable& table);

    std::shared_ptr<const SweepPlan> plan_;
    std::map<std::int64_t, QVector<SweepEntry>> entries_; // by job
    std::set<std::int64_t> changed_;                      // jobs, since they were read
    QTimer soon_;
    Job reading_, writing_; // last: they end before what they talk to
};

} // namespace tunesmith
