// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "core/workbench/sweep.h"
#include <QElapsedTimer>

namespace tunesmith {

// Jobs of a file, of a sweep or of the store, run off the window's thread. What happens arrives in bundles ten times a second; the last ones before finished().
class JobsRunner : public QObject {
    Q_OBJECT
public:
    explicit JobsRunner(QObject* parent = nullptr);

    // Jobs on devices that name no tracker are given the one that is offered.
    void start(const QString& file, const std::string& store, const DeviceChoice& offered); // of jobs or of a sweep; they go into the store
    void startWaiting(const std::string& store, const DeviceChoice& offered);               // those that wait there
    void stop() { job_.stop(); }
    bool running() const { return job_.running(); }
    Job& job() { return job_; }
    double seconds() const; // since the jobs began, as slices count; 0 before the first

signals:
    void sweepPlanned(const std::shared_ptr<const tunesmith::SweepPlan>& plan); // the file was one of a sweep; before its session begins
    void sessionBegan(qint64 session, const std::map<std::string, int>& resources); // before anything else of a run; not where no job waits
    void slicesEnded(const std::vector<tunesmith::JobSlice>& slices);
    void runningChanged(const std::vector<tunesmith::JobSlice>& slices); // that have not ended
    void waitingChanged(const std::vector<tunesmith::JobWait>& waits); // whose turn has not come
    void jobsChanged(const std::vector<tunesmith::JobStanding>& standings); // the newest of each that changed
    void finished(const tunesmith::Result<tunesmith::TunedJobs>& result);

private:
    class Feed;
    using Ask = std::function<Result<TuneJobsRequest>(Feed& feed, const Work& work)>;
    void begin(const QString& what, const DeviceChoice& offered, Ask ask);
    void drain();
    void notice(double seconds);

    std::shared_ptr<Feed> feed_;
    QTimer poll_;
    QElapsedTimer clock_;
    double began_ = 0; // what the slices' clock showed when ours did 0
    Job job_;          // last: it ends before what it talks to
};

} // namespace tunesmith
