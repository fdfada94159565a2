// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/optimize_runner.h"
#include "app/gui/optimize_rows.h"
#include <mutex>

namespace tunesmith {

// Points of the curve on their way to the window: whenever the best became better.
class OptimizeRunner::Feed {
public:
    void add(const OptimizeProgress& at) {
        const std::lock_guard lock(mutex_);
        if (any_ && at.best == best_)
            return;
        any_ = true;
        best_ = at.best;
        points_.push_back({at.seconds, at.best, at.expanded});
    }
    QVector<CostPoint> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(points_, {});
    }

private:
    std::mutex mutex_;
    QVector<CostPoint> points_;
    double best_ = 0;
    bool any_ = false;
};

OptimizeRunner::OptimizeRunner(QObject* parent) : QObject(parent) {
    poll_.setInterval(100);
    connect(&poll_, &QTimer::timeout, this, &OptimizeRunner::drain);
    connect(&job_, &Job::finished, &poll_, &QTimer::stop);
}

void OptimizeRunner::start(const Model& model, const OptimizeRequest& asked, const QFont& font) {
    enough_ = {};
    OptimizeRequest request = asked;
    request.enough = enough_.token();
    feed_ = std::make_shared<Feed>();
    begin(tr("Optimizing %1").arg(QString::fromStdString(model.name())), request, font, [=, feed = feed_](const Work& work) {
        return optimizeModel(model, request, work, [feed](const OptimizeProgress& at) { feed->add(at); });
    });
}

void OptimizeRunner::undo(const Model& model, const OptimizedRunPtr& run, int step, const QFont& font) {
    feed_ = std::make_shared<Feed>();
    begin(tr("Taking back rewrite %1 of %2").arg(step).arg(QString::fromStdString(model.name())), run->request, font,
          [=](const Work& work) { return undoRewrite(model, run->request, run->made, static_cast<std::size_t>(step), work); });
}

void OptimizeRunner::begin(const QString& name, const OptimizeRequest& request, const QFont& font, Make make) {
    poll_.start();
    job_.start(
        name,
        [=](const Work& work) -> Result<OptimizedRunPtr> {
            auto run = std::make_shared<OptimizedRun>();
            run->request = request;
            TS_ASSIGN(run->made, make(work));
            if (!request.without.empty()) {
                TS_ASSIGN(run->rules, graphRules(request));
            }
            work.report("drawing the rewrites");
            TS_ASSIGN(run->replay, replayOf(run->made, font, work.stop));
            return OptimizedRunPtr(std::move(run));
        },
        [this](const Result<OptimizedRunPtr>& result) {
            drain();
            emit finished(result);
        });
}

void OptimizeRunner::drain() {
    if (const QVector<CostPoint> points = feed_->take(); !points.isEmpty())
        emit improved(points);
}

} // namespace tunesmith
