// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/docked_page.h"
#include "app/gui/jobs_runner.h"
#include "app/gui/session_loader.h"
#include "widgets/timeline/timeline_data.h"
#include <QSet>
#include <QTemporaryFile>

class QComboBox;
class QLabel;
class QStackedWidget;

namespace tunesmith {

class DevicesDock;
class EmptyState;
class JobsPanel;
class SweepDock;
class TimelineTotals;
class TimelineView;

// Several models tuned at a time, from a file of jobs or of a sweep: which stage of which job has which core, live, what was waited for, and how the jobs stand. The same of every session
// that the store has, those included that other programs run now.
class TimelinePage : public DockedPage {
    Q_OBJECT
public:
    explicit TimelinePage(std::string store, QWidget* parent = nullptr);

    bool running() const { return runner_.running(); }
    QList<QAction*> commands() const { return {open_, sample_, cancel_, export_, saveSample_, waiting_}; }
    bool reading() const; // the store
    QList<Job*> jobs();
    QList<Job*> quietJobs(); // of which nobody needs to see the progress
    TimelineView* view() const { return past() ? past_ : view_; } // that is shown
    QComboBox* sessions() const { return sessions_; }
    SweepDock* sweep() const { return sweep_; }
    DevicesDock* devices() const { return devices_; }
    JobsPanel* jobsPanel() const { return panel_; }
    QString headline() const;
    QString detail() const;

public slots:
    void chooseFile();
    void run(const QString& file);
    void askToRun(const QString& file); // of a file that was opened or dropped
    void runWaiting(); // what waits in the store
    void runSample(); // models that are built in, small budgets
    void cancel();
    void showSession(qint64 session); // of the store
    void chooseExport();
    void exportTo(const QString& path); // a table where the name ends in .csv, else a trace for Perfetto
    void chooseSampleFile();
    void saveSampleTo(const QString& path);
    void chooseSweepExport();
    void showDevices(); // brings their dock up

signals:
    void problem(const QString& text);
    void done(const QString& text); // all jobs have ended
    void saved(const QString& text);
    void stateChanged();

protected:
    void sizeDocks() override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void createActions();
    QWidget* createHeader();
    void connectParts();
    void connectSweep();
    void showBegun(qint64 session, const std::map<std::string, int>& resources);
    void showSlices(const std::vector<JobSlice>& slices);
    QVector<TimelineSlice> rowsOf(const std::vector<JobSlice>& slices); // with tracks for their devices
    void showStandings(const std::vector<JobStanding>& standings);
    void showFinished(const Result<TunedJobs>& result);
    void pause(qint64 job);
    void resume(qint64 job);
    void askToResume(const QueuedJob& job);
    struct Question {
        const char* name; // of the object
        QString title, text, explanation, yes;
    };
    void ask(const Question& question, std::function<void()> agreed);
    void change(qint64 job, JobChange change);
    void changeLater(std::function<Status()> change);
    void changeNext();
    void begin(const QString& title);
    void refresh();
    QString detailNow() const;

    void connectSessions();
    void fillSessions(const std::vector<JobSessionSummary>& sessions);
    void showNews(const SessionNews& news);
    void bringUp(); // the view and the jobs of the session that is shown
    bool past() const { return shown_ && shown_ != ours_; } // another session than ours is shown

    std::string store_;
    QString title_, file_, sweepFile_; // of what was run last
    bool begun_ = false;    // jobs of this run are shown
    bool sweeping_ = false; // they are those of a sweep
    SessionTracks tracks_;
    QString summary_; // of those that have ended
    QVector<TimelineJob> rows_;
    QSet<qint64> paused_; // jobs, in this window
    std::optional<qint64> ours_, shown_; // sessions: the last one that was run here, and the one that is shown
    std::vector<JobSessionSummary> known_;
    SessionNews news_; // the last of the one that is shown, without its slices
    QString unread_;   // why it is not shown whole
    QList<std::function<Status()>> changes_; // of stored jobs, not yet begun
    QTemporaryFile sampleFile_;
    QAction *open_ = nullptr, *sample_ = nullptr, *cancel_ = nullptr, *export_ = nullptr, *saveSample_ = nullptr, *waiting_ = nullptr;
    QLabel *headline_, *detail_;
    QStackedWidget* middle_;
    EmptyState* idle_;
    TimelineView *view_, *past_; // of our session, and of another one
    QComboBox* sessions_;
    TimelineTotals* totals_;
    JobsPanel* panel_;
    SweepDock* sweep_;
    DevicesDock* devices_;
    QDockWidget *areaDock_ = nullptr, *sweepDock_ = nullptr, *devicesDock_ = nullptr;
    QTimer clock_; // the time that runs on while no stage ends
    SessionLoader loader_;
    Job writing_, looking_, changing_;
    JobsRunner runner_; // last: its job ends before what it talks to
};

} // namespace tunesmith
