// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "core/workbench/optimize.h"
#include "widgets/optimize/optimize_data.h"
#include <QFont>

namespace tunesmith {

// What one optimization came to, ready to be shown.
struct OptimizedRun {
    OptimizeRequest request;
    OptimizedModel made;
    std::vector<GraphRule> rules; // of the request's set; none where it does without none of them
    Replay replay; // laid out
};
using OptimizedRunPtr = std::shared_ptr<const OptimizedRun>;

// One optimization at a time, off the window's thread, its pictures included. Improvements arrive ten times a second.
class OptimizeRunner : public QObject {
    Q_OBJECT
public:
    explicit OptimizeRunner(QObject* parent = nullptr);

    void start(const Model& model, const OptimizeRequest& request, const QFont& font); // the font of the picture
    void undo(const Model& model, const OptimizedRunPtr& run, int step, const QFont& font); // one of its rewrites
    void stop() { job_.stop(); }
    void takeBest() { enough_.requestStop(); } // ends the search only
    Job& job() { return job_; }

signals:
    void improved(const QVector<tunesmith::CostPoint>& points);
    void finished(const tunesmith::Result<tunesmith::OptimizedRunPtr>& result);

private:
    class Feed;
    using Make = std::function<Result<OptimizedModel>(const Work& work)>;
    void begin(const QString& name, const OptimizeRequest& request, const QFont& font, Make make);
    void drain();

    std::shared_ptr<Feed> feed_;
    StopSource enough_;
    QTimer poll_;
    Job job_; // last: it ends before what it talks to
};

} // namespace tunesmith
