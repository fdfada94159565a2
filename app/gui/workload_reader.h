// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include <QString>
#include <optional>

namespace tunesmith {

// Decides when a dock about the chosen workload reads the trial store: while the dock can be seen, once for each choice, and
// again when what is stored has changed.
class WorkloadReader : public QObject {
    Q_OBJECT
public:
    static constexpr int kGrowMs = 3000; // between two looks at a run that grows: reading takes time from what is measured

    struct Choice {
        QString workload; // key; empty: none
        int threads = 1;
        std::optional<qint64> run; // that is shown
        bool operator==(const Choice&) const = default;
    };

    // `read` is called when it is time to; with a workload it usually start()s a job. Without one also where nobody sees it.
    WorkloadReader(std::function<void(const Choice&)> read, QObject* parent);

    void choose(const Choice& choice, bool again = false); // again: what is stored may have changed, read it in any case
    void setSeen(bool seen); // docks behind another tab count as visible, so their dock has to say it
    void grow();             // trials were added: read again soon
    const Job& job() const { return job_; }
    Job& job() { return job_; }

    // run(const Work&) -> value, elsewhere; done(value), here, unless something else was chosen meanwhile.
    template <class Run, class Done> void start(const QString& title, Run run, Done done) {
        job_.start(title, std::move(run), [this, asked = choice_, done = std::move(done)](const auto& value) {
            if (asked == choice_)
                done(value);
        });
    }

private:
    void refresh();
    void readIfSeen();

    std::function<void(const Choice&)> read_;
    Choice choice_;
    bool seen_ = false, stale_ = true, grown_ = false;
    QTimer soon_;
    Job job_;
};

} // namespace tunesmith
