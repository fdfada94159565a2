// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "core/workbench/tune_jobs.h"
#include <QElapsedTimer>

namespace tunesmith {

// A file of jobs, read and run off the window's thread. What happens arrives in bundles ten times a second; the last ones before finished().
class JobsRunner : public QObject {
    Q_OBJECT
public:
    explicit JobsRunner(QObject* parent = nullptr);

    void start(const QString& file, const std::string& store);
    void stop() { job_.stop(); }
    bool running() const { return job_.running(); }
    Job& job() { return job_; }
    double seconds() const; // since the jobs began, as slices count; 0 before the first

signals:
    void begun(const tunesmith::TuneJobsRequest& request); // the file has been read
    void slicesEnded(const std::vector<tunesmith::JobSlice>& slices);
    void jobsChanged(const std::vector<tunesmith::JobStanding>& standings); // the newest of each that changed
    void finished(const tunesmith::Result<tunesmith::TunedJobs>& result);

private:
    class Feed;
    void drain();

    std::shared_ptr<Feed> feed_;
    QTimer poll_;
    QElapsedTimer clock_;
    double began_ = 0; // what the slices' clock showed when ours did 0
    Job job_;          // last: it ends before what it talks to
};

} // namespace tunesmith
