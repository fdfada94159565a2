// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <set>
#include <string>

#include "core/executors/access.h"
#include "core/executors/lease_book.h"
#include "core/schedule/kernel_executor.h"

namespace tunesmith {

CallReport ended(CallOutcome outcome, Error error); // a call without an answer

// A client's connection to a device for the time of a lease; gone with this object. Exchanges may go on from several threads.
class RemoteSession {
public:
    struct Setup {
        LeaseBook::Answer grant; // with a lease
        KernelWorkerOptions limits;
        Access access;
        std::string clientSecret; // 128 bits; under it the server keeps this client's kernels
        LeaseTiming timing;
    };
    static Result<std::unique_ptr<RemoteSession>> open(const Setup& setup, const StopToken& stop);
    ~RemoteSession();

    const DeviceInfo& device() const;
    const std::string& deviceId() const;
    // Around exchanges. False: others want the device, or it is gone; nothing more begins here. Between them a device that others want goes back by itself.
    bool enter();
    void leave();

    // A report is the device's answer, also that it refuses the request, or has not started it as the turn is over. An Error: there is none, as the device is gone, silent or
    // sends nonsense; then the session is lost.
    // `kept`: blobs that the server has; they are only named. Where it lost them they are sent again. `moved`: bytes of requests with an answer, and of that, are added to it.
    Result<CallReport> exchange(const Message& request, double seconds, std::chrono::milliseconds patience, const StopToken& stop,
                                const std::set<std::string>& kept, std::uint64_t* moved = nullptr);

private:
    struct Impl;
    explicit RemoteSession(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace tunesmith
