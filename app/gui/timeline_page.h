// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/docked_page.h"
#include "app/gui/jobs_runner.h"
#include "core/workbench/job_queue.h"
#include "widgets/timeline/timeline_data.h"
#include <QTemporaryFile>

class QLabel;
class QStackedWidget;

namespace tunesmith {

class EmptyState;
class JobsPanel;
class TimelineTotals;
class TimelineView;

// Several models tuned at a time, from a file of jobs: which stage of which job has which core, live, what was waited for, and how the jobs stand.
class TimelinePage : public DockedPage {
    Q_OBJECT
public:
    explicit TimelinePage(std::string store, QWidget* parent = nullptr);

    bool running() const { return runner_.running(); }
    QList<QAction*> commands() const { return {open_, sample_, cancel_, export_, saveSample_, waiting_}; }
    QList<Job*> jobs() { return {&runner_.job(), &writing_, &changing_}; }
    TimelineView* view() const { return view_; }
    JobsPanel* jobsPanel() const { return panel_; }
    QString headline() const;
    QString detail() const;

public slots:
    void chooseFile();
    void run(const QString& file);
    void runWaiting(); // what waits in the store
    void runSample(); // models that are built in, small budgets
    void cancel();
    void chooseExport();
    void exportTo(const QString& path); // a table where the name ends in .csv, else a trace for Perfetto
    void chooseSampleFile();
    void saveSampleTo(const QString& path);

signals:
    void problem(const QString& text);
    void done(const QString& text); // all jobs have ended
    void saved(const QString& text);
    void stateChanged();

protected:
    void sizeDocks() override;

private:
    void createActions();
    QWidget* createHeader();
    void connectParts();
    void showBegun();
    void showSlices(const std::vector<JobSlice>& slices);
    void showStandings(const std::vector<JobStanding>& standings);
    void showFinished(const Result<TunedJobs>& result);
    void change(qint64 job, JobChange change);
    void changeLater(std::function<Status()> change);
    void begin(const QString& title);
    void refresh();

    std::string store_;
    QString title_;
    bool begun_ = false; // jobs of this run are shown
    JobTimeline timeline_;
    QString summary_; // of those that have ended
    QVector<TimelineJob> rows_;
    QTemporaryFile sampleFile_;
    QAction *open_ = nullptr, *sample_ = nullptr, *cancel_ = nullptr, *export_ = nullptr, *saveSample_ = nullptr, *waiting_ = nullptr;
    QLabel *headline_, *detail_;
    QStackedWidget* middle_;
    EmptyState* idle_;
    TimelineView* view_;
    TimelineTotals* totals_;
    JobsPanel* panel_;
    QTimer clock_; // the time that runs on while no stage ends
    Job writing_, changing_;
    JobsRunner runner_; // last: its job ends before what it talks to
};

} // namespace tunesmith
