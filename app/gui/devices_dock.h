// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "app/gui/job.h"
#include "core/workbench/remote.h"
#include "widgets/devices/devices_panel.h"
#include <optional>

namespace tunesmith {

// What tunings can be run on: all devices of one key.
struct DeviceKey {
    QString key;
    int devices = 0, free = 0, threads = 1; // threads: of the one that has most
    bool operator==(const DeviceKey&) const = default;
};

DeviceEntry deviceEntry(const DeviceState& device);
QVector<DeviceKey> deviceKeys(const DeviceList& list); // sorted

// The devices of a tracker, asked every few seconds from Connect to Disconnect. Which tracker it was is remembered, it is not asked again by itself.
class DevicesDock : public DevicesPanel {
    Q_OBJECT
public:
    static constexpr int kAskMs = 3000;

    explicit DevicesDock(QWidget* parent = nullptr);

    bool connected() const { return state() == State::on; }
    const QVector<DeviceKey>& keys() const { return keys_; }
    DeviceChoice choice() const; // the tracker and its files, once it has answered; without a key
    QList<Job*> quietJobs() { return {&asking_}; } // of which nobody needs to see the progress

public slots:
    void connectTracker();
    void disconnectTracker();

signals:
    void keysChanged(); // or whether there are any

private:
    void ask();
    void show(const Result<DeviceList>& list);
    void setKeys(const QVector<DeviceKey>& keys);

    TrackerChoice tracker_; // that is asked
    QVector<DeviceKey> keys_;
    QTimer again_;
    Job asking_; // last: it ends before what it talks to
};

} // namespace tunesmith
