// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/device_watch.h"

#include <algorithm>

#include "core/base/log.h"
#include "core/workbench/remote_device.h"

namespace tunesmith {
namespace {

constexpr auto kEvery = std::chrono::seconds(1);

} // namespace

DeviceWatch::~DeviceWatch() { ending_.requestStop(); }

void DeviceWatch::add(const DeviceChoice& choice) {
    {
        const std::lock_guard lock(mutex_);
        auto source = std::ranges::find(sources_, choice.tracker, [](const auto& one) { return one->choice.tracker; });
        if (source == sources_.end())
            source = sources_.insert(source, std::make_unique<Source>(Source{choice}));
        (*source)->counts.try_emplace(choice.key, 0);
        apply(choice.key);
    }
    if (begun_)
        begin();
}

void DeviceWatch::begin() {
    begun_ = true;
    const std::lock_guard lock(mutex_);
    for (const auto& source : sources_)
        if (!source->thread.joinable())
            source->thread = std::jthread([this, own = source.get()](const std::stop_token& stop) { run(*own, stop); });
    wake_.notify_all();
}

// Jobs that want a tracker's devices tell its errors.
void DeviceWatch::run(Source& source, const std::stop_token& stop) {
    std::unique_ptr<TrackerClient> client;
    while (!stop.stop_requested()) {
        if (!client)
            if (const auto access = accessOf(source.choice.files); access.ok())
                if (auto made = TrackerClient::make(source.choice.tracker, *access, ending_.token()); made.ok())
                    client = std::move(*made);
        if (client)
            ask(source, *client);
        std::unique_lock lock(mutex_);
        wake_.wait_for(lock, stop, kEvery, [keys = source.counts.size(), &source] { return source.counts.size() != keys; });
    }
}

void DeviceWatch::ask(Source& source, TrackerClient& client) {
    const auto list = client.list();
    if (!list.ok())
        return logMessage(LogLevel::debug, list.error().message);
    const auto has = [](const TrackerClient::Device& device, const std::string& key) { return !device.deaf && std::ranges::find(device.info.keys, key) != device.info.keys.end(); };
    const std::lock_guard lock(mutex_);
    for (auto& [key, count] : source.counts) {
        count = static_cast<int>(std::ranges::count_if(list->devices, [&](const TrackerClient::Device& device) { return has(device, key); }));
        apply(key);
    }
}

void DeviceWatch::countMissing(const std::string& key, bool missing) {
    const std::lock_guard lock(mutex_);
    missing_[key] += missing ? 1 : -1;
    apply(key);
}

// With the lock held.
void DeviceWatch::apply(const std::string& key) {
    int known = 0;
    for (const auto& source : sources_)
        if (const auto count = source->counts.find(key); count != source->counts.end())
            known += count->second;
    board_.setAmount(resourceOf(key), known + missing_[key]);
}

} // namespace tunesmith
