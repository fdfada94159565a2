// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <functional>

namespace tunesmith {

// Lets an update through at most once per interval; the first one at once, and the last one is never lost.
// For views that are fed faster than anybody can look. One thread.
class Throttle : public QObject {
    Q_OBJECT
public:
    Throttle(int intervalMs, std::function<void()> update, QObject* parent = nullptr);

    void request(); // runs the update now or when the interval is over
    void flush();   // runs a waiting update now

private:
    void run();

    int interval_;
    std::function<void()> update_;
    QTimer timer_;
    QElapsedTimer since_;
};

} // namespace tunesmith
