// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/jobs_runner.h"
#include "core/workbench/work_file.h"
#include <QFileInfo>
#include <mutex>
#include <optional>

namespace tunesmith {

class JobsRunner::Feed : public TuneJobsListener {
public:
    struct News {
        std::vector<JobSlice> slices;
        std::optional<std::vector<JobSlice>> running;
        std::optional<std::vector<JobWait>> waiting;
        std::map<std::size_t, JobStanding> standings;
        std::optional<std::pair<std::int64_t, std::map<std::string, int>>> session;
        std::shared_ptr<const SweepPlan> sweep;
    };

    void onSweep(std::shared_ptr<const SweepPlan> plan) {
        const std::lock_guard lock(mutex_);
        news_.sweep = std::move(plan);
    }

    void onSession(std::int64_t session, const std::map<std::string, int>& resources) override {
        const std::lock_guard lock(mutex_);
        news_.session.emplace(session, resources);
    }

    void onSlice(const JobSlice& slice) override {
        const std::lock_guard lock(mutex_);
        news_.slices.push_back(slice);
    }
    void onRunning(const std::vector<JobSlice>& slices) override {
        const std::lock_guard lock(mutex_);
        news_.running = slices;
    }
    void onWaiting(const std::vector<JobWait>& waits) override {
        const std::lock_guard lock(mutex_);
        news_.waiting = waits;
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

void JobsRunner::start(const QString& file, const std::string& store, const DeviceChoice& offered) {
    begin(tr("Running the jobs of %1").arg(QFileInfo(file).fileName()), offered, [file = file.toStdString(), store](Feed& feed, const Work& work) -> Result<TuneJobsRequest> {
        if (workFileKind(file) != WorkFile::sweep) {
            TS_ASSIGN(TuneJobsRequest request, readJobFile(file));
            request.store = store;
            return request;
        }
        TS_ASSIGN(SweepRequest request, readSweepFile(file));
        request.store = store;
        TS_ASSIGN(SweepPlan plan, planSweep(request, work));
        const auto shared = std::make_shared<const SweepPlan>(std::move(plan));
        feed.onSweep(shared);
        return shared->run();
    });
}

void JobsRunner::startWaiting(const std::string& store, const DeviceChoice& offered) {
    begin(tr("Running the jobs that wait"), offered, [store](Feed&, const Work&) -> Result<TuneJobsRequest> {
        TuneJobsRequest request;
        request.queued = true;
        request.store = store;
        return request;
    });
}

void JobsRunner::begin(const QString& what, const DeviceChoice& offered, Ask ask) {
    feed_ = std::make_shared<Feed>();
    clock_.invalidate();
    poll_.start();
    job_.start(
        what,
        [ask = std::move(ask), offered, feed = feed_](const Work& work) -> Result<TunedJobs> {
            TS_ASSIGN(TuneJobsRequest request, ask(*feed, work));
            request.listener = feed.get();
            request.offered = offered;
            return tuneJobs(request, work);
        },
        [this](const Result<TunedJobs>& result) {
            drain();
            emit finished(result);
        });
}

// The time has come that far.
void JobsRunner::notice(double seconds) {
    if (clock_.isValid() && seconds <= this->seconds())
        return;
    clock_.start();
    began_ = seconds;
}

double JobsRunner::seconds() const {
    return clock_.isValid() ? began_ + static_cast<double>(clock_.elapsed()) / 1000 : 0;
}

// Jobs before their slices.
void JobsRunner::drain() {
    const Feed::News news = feed_->take();
    if (news.sweep)
        emit sweepPlanned(news.sweep);
    if (news.session)
        emit sessionBegan(news.session->first, news.session->second);
    std::vector<JobStanding> standings;
    for (const auto& [job, standing] : news.standings)
        standings.push_back(standing);
    if (!standings.empty())
        emit jobsChanged(standings);
    if (!news.slices.empty()) {
        notice(news.slices.back().end);
        emit slicesEnded(news.slices);
    }
    if (news.running) {
        for (const JobSlice& slice : *news.running)
            notice(slice.begin);
        emit runningChanged(*news.running);
    }
    if (!news.waiting)
        return;
    for (const JobWait& wait : *news.waiting)
        notice(wait.called);
    emit waitingChanged(*news.waiting);
}

} // namespace tunesmith
