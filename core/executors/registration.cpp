// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/registration.h"

#include "core/base/helpers.h"
#include "core/base/log.h"

namespace tunesmith {

Result<std::unique_ptr<Registration>> Registration::start(std::unique_ptr<TrackerClient> tracker, const DeviceInfo& device, LeaseTiming timing) {
    std::unique_ptr<Registration> registration(new Registration(std::move(tracker), device, timing));
    if (const Status first = registration->registerAgain(true); !first.ok() && first.error().kind != ErrorKind::io)
        return first.error();
    TS_ASSIGN(registration->thread_, startThread([raw = registration.get()] { raw->run(); }));
    return registration;
}

Registration::~Registration() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable())
        thread_.join();
    if (!secret_.empty())
        static_cast<void>(tracker_->leave(secret_).ok());
}

Status Registration::registerAgain(bool isFirst) {
    auto secret = tracker_->add(device_, serving_);
    if (!secret.ok()) {
        if (secret.error().isCancelled() || (isFirst && secret.error().kind != ErrorKind::io))
            return secret.error(); // nobody tries again
        if (!lostTold_)
            logMessage(LogLevel::warning, secret.error().message + "; trying again");
        lostTold_ = true;
        return secret.error();
    }
    if (lostTold_)
        logMessage(LogLevel::info, "the tracker knows this device again");
    lostTold_ = false;
    secret_ = std::move(*secret);
    return {};
}

void Registration::beatOnce() {
    const std::lock_guard lock(talking_);
    if (secret_.empty() && !registerAgain().ok())
        return;
    const auto answer = tracker_->beat(secret_, serving_ ? serving_->id : std::string());
    if (!answer.ok())
        return;
    if (!answer->known) {
        secret_.clear();
        static_cast<void>(registerAgain().ok());
        return;
    }
    if (answer->revoked && serving_ && !revoked_) {
        revoked_ = true;
        logMessage(LogLevel::warning, "the tracker has ended the lease of " + serving_->client);
    }
    wanted_ = answer->wanted;
}

void Registration::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        hurry_ = false;
        lock.unlock();
        beatOnce();
        lock.lock();
        wake_.wait_for(lock, timing_.beat, [this] { return hurry_ || stopping_; });
    }
}

Result<std::optional<Lease>> Registration::begin(const std::string& lease) {
    const std::lock_guard lock(talking_);
    if (serving_)
        return ioError("this device still serves another client");
    if (secret_.empty())
        return ioError("this device has no tracker at present");
    TS_ASSIGN(auto confirmed, tracker_->confirm(secret_, lease));
    revoked_ = wanted_ = false;
    serving_ = confirmed;
    return confirmed;
}

void Registration::end() {
    {
        const std::lock_guard lock(talking_);
        serving_.reset();
        revoked_ = wanted_ = false;
    }
    const std::lock_guard lock(mutex_);
    hurry_ = true;
    wake_.notify_all();
}

} // namespace tunesmith
