// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/tune_runner.h"
#include <mutex>

namespace tunesmith {

class TuneRunner::Feed : public TuneListener {
public:
    struct News { // of one leg
        std::optional<TuneLeg> leg;
        std::optional<std::int64_t> run;
        std::optional<std::vector<TuningTask>> tasks;
        QVector<TuneTrial> trials;
        QStringList done;
    };

    void onProgress(const Progress& progress) override {
        if (report)
            report(progress);
    }
    void onLeg(const TuneLeg& leg) override {
        const std::lock_guard lock(mutex_);
        news_.emplace_back();
        news_.back().leg = leg;
    }
    void onTasks(const std::vector<TuningTask>& tasks) override {
        const std::lock_guard lock(mutex_);
        latest().tasks = tasks;
    }
    void onRun(std::int64_t run) override {
        const std::lock_guard lock(mutex_);
        latest().run = run;
    }
    void onTrial(const TuneTrial& trial) override {
        const std::lock_guard lock(mutex_);
        latest().trials.push_back(trial);
    }
    void onTaskDone(const std::string& workload, const std::string&) override {
        const std::lock_guard lock(mutex_);
        latest().done << QString::fromStdString(workload);
    }
    std::vector<News> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(news_, {});
    }

    std::function<void(const Progress&)> report; // set before the work starts

private:
    News& latest() {
        if (news_.empty())
            news_.emplace_back();
        return news_.back();
    }

    std::mutex mutex_;
    std::vector<News> news_;
};

TuneRunner::TuneRunner(QObject* parent) : QObject(parent) {
    poll_.setInterval(100);
    connect(&poll_, &QTimer::timeout, this, &TuneRunner::drain);
}

void TuneRunner::start(const Model& model, TuneRequest request) {
    feed_ = std::make_shared<Feed>();
    poll_.start();
    job_.start(
        tr("Tuning %1").arg(QString::fromStdString(model.name())),
        [model, request = std::move(request), feed = feed_](const Work& work) {
            TuneRequest watched = request;
            watched.stop = work.stop;
            watched.listener = feed.get();
            feed->report = work.progress;
            return tuneModel(model, watched);
        },
        [this](const Result<TuneReport>& result) {
            drain();
            poll_.stop();
            emit finished(result);
        });
}

void TuneRunner::drain() {
    for (const Feed::News& news : feed_->take()) {
        if (news.leg)
            emit legStarted(*news.leg);
        if (news.tasks)
            emit tasksKnown(*news.tasks);
        if (news.run)
            emit runStarted(*news.run);
        if (!news.trials.isEmpty())
            emit trialsMeasured(news.trials);
        if (!news.done.isEmpty())
            emit tasksDone(news.done);
    }
}

} // namespace tunesmith
