// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "core/workbench/tune.h"
#include <QStringList>
#include <QVector>

namespace tunesmith {

// One tuning at a time, off the window's thread. Trials arrive in bundles ten times a second, however fast
// the engine measures; the last ones before finished().
class TuneRunner : public QObject {
    Q_OBJECT
public:
    explicit TuneRunner(QObject* parent = nullptr);

    void start(const Model& model, TuneRequest request); // without stop and listener: those are ours
    void stop() { job_.stop(); }
    bool running() const { return job_.running(); }
    Job& job() { return job_; }

signals:
    void legStarted(const tunesmith::TuneLeg& leg);
    void tasksKnown(const std::vector<tunesmith::TuningTask>& tasks);
    void runStarted(qint64 run);
    void trialsMeasured(const QVector<tunesmith::TuneTrial>& trials);
    void tasksDone(const QStringList& workloads);
    void finished(const tunesmith::Result<tunesmith::TuneReport>& result);

private:
    class Feed;
    void drain();

    std::shared_ptr<Feed> feed_;
    QTimer poll_;
    Job job_;
};

} // namespace tunesmith
