// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/devices_dock.h"
#include "app/gui/settings.h"
#include <limits>
#include <map>

namespace tunesmith {
namespace {

double known(double value) {
    return value > 0 ? value : std::numeric_limits<double>::quiet_NaN();
}

DeviceChoice choiceOf(const TrackerChoice& tracker) {
    DeviceChoice choice;
    choice.tracker = tracker.address.toStdString();
    choice.files.token = tracker.tokenFile.toStdString();
    choice.files.ca = tracker.authority.toStdString();
    choice.files.insecure = tracker.insecure;
    return choice;
}

} // namespace

DeviceEntry deviceEntry(const DeviceState& device) {
    DeviceEntry entry;
    QStringList keys;
    for (const std::string& key : device.keys)
        keys << QString::fromStdString(key);
    entry.key = QString::fromStdString(device.address);
    entry.keys = keys.join(QStringLiteral(", "));
    entry.name = QString::fromStdString(device.name);
    entry.processor = device.mock ? DevicesDock::tr("none: its times are made up") : QString::fromStdString(device.cpu);
    entry.confinement = QString::fromStdString(device.confinement);
    entry.threads = device.threads;
    entry.memoryGb = device.memoryGb;
    entry.gflops = known(device.fmaGflops);
    entry.gbs = known(device.memoryGbs);
    entry.client = QString::fromStdString(device.client);
    entry.priority = device.priority;
    entry.seconds = device.seconds;
    entry.deaf = device.deaf;
    return entry;
}

QVector<DeviceKey> deviceKeys(const DeviceList& list) {
    std::map<QString, DeviceKey> byKey;
    for (const DeviceState& device : list.devices)
        for (const std::string& name : device.keys) {
            DeviceKey& key = byKey[QString::fromStdString(name)];
            ++key.devices;
            key.free += device.client.empty() && !device.deaf ? 1 : 0;
            key.threads = std::max(key.threads, device.threads);
        }
    QVector<DeviceKey> keys;
    for (auto& [name, key] : byKey) {
        key.key = name;
        keys.push_back(key);
    }
    return keys;
}

DevicesDock::DevicesDock(QWidget* parent) : DevicesPanel(parent) {
    setTracker(settings::tracker());
    again_.setInterval(kAskMs);
    again_.setSingleShot(true);
    connect(&again_, &QTimer::timeout, this, &DevicesDock::ask);
    connect(this, &DevicesPanel::connectRequested, this, &DevicesDock::connectTracker);
    connect(this, &DevicesPanel::disconnectRequested, this, &DevicesDock::disconnectTracker);
    connect(&asking_, &Job::failed, this, [this](const QString& reason) { show(internalError(reason.toStdString())); });
}

DeviceChoice DevicesDock::choice() const {
    return connected() ? choiceOf(tracker_) : DeviceChoice();
}

void DevicesDock::connectTracker() {
    if (state() != State::off || tracker().address.isEmpty())
        return;
    tracker_ = tracker();
    settings::setTracker(tracker_);
    setProblem({});
    setState(State::connecting);
    ask();
}

void DevicesDock::disconnectTracker() {
    again_.stop();
    asking_.stop();
    setProblem({});
    setState(State::off);
    setKeys({});
}

void DevicesDock::ask() {
    asking_.start(
        tr("Asking the tracker"), [choice = choiceOf(tracker_)](const Work& work) { return listDevices(choice.tracker, choice.files, work.stop); },
        [this](const Result<DeviceList>& list) { show(list); });
}

// A tracker that has answered before may come back; one that never did was perhaps a wrong address.
void DevicesDock::show(const Result<DeviceList>& list) {
    if (state() == State::off)
        return;
    setProblem(list.ok() ? QString() : QString::fromStdString(list.error().message));
    if (!list.ok() && state() == State::connecting)
        return setState(State::off);
    again_.start();
    if (!list.ok())
        return;
    QVector<DeviceEntry> devices;
    for (const DeviceState& device : list->devices)
        devices.push_back(deviceEntry(device));
    QVector<WaitingEntry> waiting;
    for (const WaitingClient& client : list->waiting)
        waiting.push_back({QString::fromStdString(client.client), QString::fromStdString(client.key), client.priority, client.seconds});
    setState(State::on);
    setDevices(devices, waiting);
    setKeys(deviceKeys(*list));
}

void DevicesDock::setKeys(const QVector<DeviceKey>& keys) {
    keys_ = keys;
    emit keysChanged();
}

} // namespace tunesmith
