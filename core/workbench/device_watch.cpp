// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/device_watch.h"

#include <algorithm>

#include "core/base/log.h"
#include "core/workbench/remote_device.h"

namespace tunesmith {
namespace {

constexpr auto kEvery = std::chrono::seconds(1);

} // namespace

DeviceWatch::~DeviceWatch() = default;

void DeviceWatch::add(const DeviceChoice& choice) {
    {
        const std::lock_guard lock(mutex_);
        added_.push_back(choice);
        apply(choice.key);
    }
    if (begun_)
        begin();
}

void DeviceWatch::begin() {
    begun_ = true;
    const std::lock_guard lock(mutex_);
    if (!added_.empty() && !thread_.joinable())
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    wake_.notify_all();
}

void DeviceWatch::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        takeAdded();
        look();
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, stop, kEvery, [this] { return !added_.empty(); });
    }
}

void DeviceWatch::takeAdded() {
    std::vector<DeviceChoice> added;
    {
        const std::lock_guard lock(mutex_);
        added.swap(added_);
    }
    for (const DeviceChoice& choice : added) {
        auto source = std::ranges::find(sources_, choice.tracker, [](const Source& one) { return one.choice.tracker; });
        if (source == sources_.end())
            source = sources_.insert(source, {choice});
        source->keys.insert(choice.key);
    }
}

void DeviceWatch::look() {
    std::map<std::string, int> known;
    for (Source& source : sources_) {
        ask(source);
        for (const auto& [key, count] : source.counts)
            known[key] += count;
    }
    const std::lock_guard lock(mutex_);
    for (const auto& [key, count] : known) {
        amounts_[key].known = count;
        apply(key);
    }
}

// What is wrong with a tracker is told by the jobs that want its devices.
void DeviceWatch::ask(Source& source) {
    if (!source.client) {
        const auto access = accessOf(source.choice.files);
        auto client = access.ok() ? TrackerClient::make(source.choice.tracker, *access) : Result<std::unique_ptr<TrackerClient>>(access.error());
        if (!client.ok())
            return;
        source.client = std::move(*client);
    }
    const auto list = source.client->list();
    if (!list.ok())
        return logMessage(LogLevel::debug, list.error().message);
    for (const std::string& key : source.keys)
        source.counts[key] = static_cast<int>(
            std::ranges::count_if(list->devices, [&](const TrackerClient::Device& device) { return !device.deaf && std::ranges::find(device.info.keys, key) != device.info.keys.end(); }));
}

void DeviceWatch::countMissing(const std::string& key, bool missing) {
    const std::lock_guard lock(mutex_);
    amounts_[key].missing += missing ? 1 : -1;
    apply(key);
}

void DeviceWatch::apply(const std::string& key) {
    const Amount& amount = amounts_[key];
    board_.setAmount(resourceOf(key), amount.known + amount.missing);
}

} // namespace tunesmith
