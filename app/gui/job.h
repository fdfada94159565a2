// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/work.h"
#include <QObject>
#include <QThreadPool>
#include <QTimer>
#include <functional>
#include <memory>
#include <utility>

namespace tunesmith {

// Engine work off the window's thread. The newest start wins: an older one that is still running is asked to
// stop and its result is dropped. Progress is looked at ten times a second, however often the engine reports
// it. All members and signals belong to the window's thread; only `run` is called from another one.
class Job : public QObject {
    Q_OBJECT
public:
    explicit Job(QObject* parent = nullptr);
    ~Job() override; // asks to stop and waits

    // run(const Work&) -> value, elsewhere; done(value), here.
    template <class Run, class Done> void start(const QString& title, Run run, Done done) {
        launch(title, [run = std::move(run), done = std::move(done)](const Work& work) -> Delivery {
            auto value = std::make_shared<decltype(run(work))>(run(work));
            return [value, done] { done(std::move(*value)); };
        });
    }

    void stop(); // a wish: the result still arrives, usually "cancelled"
    bool running() const { return running_; }
    QString title() const { return title_; }

signals:
    void started(const QString& title);
    void progressed(const QString& phase, double fraction); // fraction negative: not known
    void failed(const QString& reason); // an exception came out of the work: a bug or no memory
    void finished();                    // after done()

private:
    using Delivery = std::function<void()>;
    struct Shared;

    void launch(const QString& title, std::function<Delivery(const Work&)> run);
    void deliver(quint64 generation, const Delivery& delivery, const QString& problem);
    void lookAtProgress();

    QThreadPool pool_;
    QTimer poll_;
    StopSource stop_;
    std::shared_ptr<Shared> shared_;
    QString title_;
    quint64 generation_ = 0;
    bool running_ = false;
};

} // namespace tunesmith
