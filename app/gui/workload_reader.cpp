// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/workload_reader.h"

namespace tunesmith {

WorkloadReader::WorkloadReader(std::function<void(const Choice&)> read, QObject* parent)
    : QObject(parent), read_(std::move(read)) {
    soon_.setSingleShot(true);
    soon_.setInterval(kGrowMs);
    connect(&soon_, &QTimer::timeout, this, &WorkloadReader::refresh);
    connect(&job_, &Job::finished, this, [this] {
        if (grown_)
            soon_.start();
    });
}

void WorkloadReader::choose(const Choice& choice, bool again) {
    if (choice_ == choice && !again)
        return;
    choice_ = choice;
    refresh();
}

void WorkloadReader::setSeen(bool seen) {
    seen_ = seen;
    readIfSeen();
}

void WorkloadReader::refresh() {
    stale_ = true;
    readIfSeen();
}

// A read that is under way is not begun anew: where reading takes longer than trials do, none would come to its end.
void WorkloadReader::grow() {
    grown_ = true;
    if (!job_.running() && !soon_.isActive())
        soon_.start();
}

void WorkloadReader::readIfSeen() {
    if (!stale_ || (!seen_ && !choice_.workload.isEmpty()))
        return;
    stale_ = grown_ = false;
    soon_.stop();
    if (choice_.workload.isEmpty())
        job_.stop();
    read_(choice_);
}

} // namespace tunesmith
