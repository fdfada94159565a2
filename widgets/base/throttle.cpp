// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/base/throttle.h"

namespace tunesmith {

Throttle::Throttle(int intervalMs, std::function<void()> update, QObject* parent)
    : QObject(parent), interval_(intervalMs), update_(std::move(update)) {
    timer_.setSingleShot(true);
    connect(&timer_, &QTimer::timeout, this, &Throttle::run);
}

void Throttle::request() {
    if (timer_.isActive())
        return;
    if (!since_.isValid() || since_.elapsed() >= interval_)
        run();
    else
        timer_.start(interval_ - static_cast<int>(since_.elapsed()));
}

void Throttle::flush() {
    if (timer_.isActive())
        run();
}

void Throttle::run() {
    timer_.stop();
    since_.start();
    update_();
}

} // namespace tunesmith
