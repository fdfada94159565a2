// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/job.h"
#include "widgets/base/foreign_text.h"
#include <exception>
#include <mutex>

namespace tunesmith {

struct Job::Shared {
    std::mutex mutex;
    Progress latest;
    bool fresh = false;
};

Job::Job(QObject* parent) : QObject(parent) {
    pool_.setMaxThreadCount(8); // the newest starts at once, also while dropped ones come to their end
    poll_.setInterval(100);
    connect(&poll_, &QTimer::timeout, this, &Job::lookAtProgress);
}

Job::~Job() {
    stop_.requestStop();
    pool_.waitForDone();
}

void Job::stop() {
    stop_.requestStop();
}

void Job::launch(const QString& title, std::function<Delivery(const Work&)> run) {
    stop_.requestStop();
    stop_ = {};
    shared_ = std::make_shared<Shared>();
    title_ = title;
    running_ = true;
    poll_.start();
    Work work;
    work.stop = stop_.token();
    work.progress = [shared = shared_](const Progress& progress) {
        const std::lock_guard lock(shared->mutex);
        shared->latest = progress;
        shared->fresh = true;
    };
    pool_.start([this, work, run = std::move(run), generation = ++generation_] {
        Delivery delivery;
        QString problem;
        try {
            delivery = run(work);
        } catch (const std::exception& error) {
            problem = QString::fromUtf8(error.what());
        }
        QMetaObject::invokeMethod(
            this, [=, this] { deliver(generation, delivery, problem); }, Qt::QueuedConnection);
    });
    emit started(title);
}

void Job::deliver(quint64 generation, const Delivery& delivery, const QString& problem) {
    if (generation != generation_)
        return;
    lookAtProgress();
    poll_.stop();
    running_ = false;
    if (delivery)
        delivery();
    else
        emit failed(problem);
    if (!running_) // done() may have started the next one
        emit finished();
}

void Job::lookAtProgress() {
    Progress progress;
    {
        const std::lock_guard lock(shared_->mutex);
        if (!std::exchange(shared_->fresh, false))
            return;
        progress = shared_->latest;
    }
    const QString detail = oneLine(progress.detail);
    const QString phase = oneLine(progress.phase);
    emit progressed(detail.isEmpty() ? phase : tr("%1 (%2)").arg(phase, detail), progress.fraction);
}

} // namespace tunesmith
