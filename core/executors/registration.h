// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "core/executors/tracker_client.h"

namespace tunesmith {

// A server's standing with its tracker, kept up by a thread: it registers, again after every loss, and beats. What it says to the
// tracker about its lease is said in order, so that no beat from before a lease ends it.
class Registration {
public:
    // A tracker that is not there is waited for; one that refuses the device is an Error.
    static Result<std::unique_ptr<Registration>> start(std::unique_ptr<TrackerClient> tracker, const DeviceInfo& device, LeaseTiming timing);
    ~Registration(); // leaves

    // A client has come with a lease: none when the tracker has not given it; an `io` error when there is no tracker or another
    // client is still here.
    Result<std::optional<Lease>> begin(const std::string& lease);
    void end();
    bool isRevoked() const { return revoked_; } // the lease is over
    bool isWanted() const { return wanted_; }   // the client should give the device back between two calls

private:
    Registration(std::unique_ptr<TrackerClient> tracker, const DeviceInfo& device, LeaseTiming timing)
        : tracker_(std::move(tracker)), device_(device), timing_(timing) {}
    Status registerAgain(bool isFirst = false);
    void beatOnce();
    void run();

    const std::unique_ptr<TrackerClient> tracker_;
    const DeviceInfo device_;
    const LeaseTiming timing_;
    std::atomic<bool> revoked_ = false, wanted_ = false;
    std::mutex talking_; // guards what follows, during calls to the tracker, too
    std::string secret_; // empty: not registered
    std::optional<Lease> serving_;
    bool lostTold_ = false;
    std::mutex mutex_; // guards what follows
    std::condition_variable wake_;
    bool hurry_ = false, stopping_ = false;
    std::jthread thread_;
};

} // namespace tunesmith
