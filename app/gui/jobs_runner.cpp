// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/jobs_runner.h"
#include <QFileInfo>
#include <mutex>
#include <optional>

namespace tunesmith {

class JobsRunner::Feed : public TuneJobsListener {
public:
    struct News {
        std::optional<TuneJobsRequest> request;
        std::vector<JobSlice> slices;
        std::map<std::size_t, JobStanding> standings;
    };

    void onRequest(const TuneJobsRequest& request) {
        const std::lock_guard lock(mutex_);
        news_.request = request;
    }
    void onSlice(const JobSlice& slice) override {
        const std::lock_guard lock(mutex_);
        news_.slices.push_back(slice);
    }
    void onJob(const JobStanding& standing) override {
        const std::lock_guard lock(mutex_);
        news_.standings[standing.job] = standing;
    }
    News take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(news_, {});
    }

private:
    std::mutex mutex_;
    News news_;
};

JobsRunner::JobsRunner(QObject* parent) : QObject(parent) {
    poll_.setInterval(100);
    connect(&poll_, &QTimer::timeout, this, &JobsRunner::drain);
    connect(&job_, &Job::finished, &poll_, &QTimer::stop);
}

void JobsRunner::start(const QString& file, const std::string& store) {
    feed_ = std::make_shared<Feed>();
    clock_.invalidate();
    poll_.start();
    job_.start(
        tr("Running the jobs of %1").arg(QFileInfo(file).fileName()),
        [file = file.toStdString(), store, feed = feed_](const Work& work) -> Result<TunedJobs> {
            TS_ASSIGN(TuneJobsRequest request, readJobFile(file));
            request.store = store;
            feed->onRequest(request);
            request.listener = feed.get();
            return tuneJobs(request, work);
        },
        [this](const Result<TunedJobs>& result) {
            drain();
            emit finished(result);
        });
}

double JobsRunner::seconds() const {
    return clock_.isValid() ? began_ + static_cast<double>(clock_.elapsed()) / 1000 : 0;
}

void JobsRunner::drain() {
    const Feed::News news = feed_->take();
    if (news.request)
        emit begun(*news.request);
    if (!news.slices.empty()) {
        if (!clock_.isValid() || news.slices.back().end > seconds()) {
            clock_.start();
            began_ = news.slices.back().end;
        }
        emit slicesEnded(news.slices);
    }
    if (news.standings.empty())
        return;
    std::vector<JobStanding> standings;
    for (const auto& [job, standing] : news.standings)
        standings.push_back(standing);
    emit jobsChanged(standings);
}

} // namespace tunesmith
