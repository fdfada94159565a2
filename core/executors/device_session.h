// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "core/executors/device.h"
#include "core/executors/kept_blobs.h"
#include "core/executors/lease_book.h"
#include "core/schedule/kernel_executor.h"

namespace tunesmith {

namespace remote {
class Request;
class Reply;
} // namespace remote

// One client's time on a device, without the network: its requests are checked, and forwarded to workers that only it has had. Its
// end takes the workers along. From several threads.
class DeviceSession {
public:
    DeviceSession(DeviceInfo device, Lease lease, std::string clientSecret, std::unique_ptr<KernelExecutor> executor, KeptBlobs& blobs)
        : device_(std::move(device)), lease_(std::move(lease)), client_(std::move(clientSecret)), executor_(std::move(executor)), blobs_(blobs) {}

    const Lease& lease() const { return lease_; }
    // Bytes that a request takes beside itself while it is worked on: its blobs, those that it only names among them, and its JSON.
    std::size_t weight(const remote::Request& request) const;
    // An Error is a refusal; what becomes of a kernel is in the reply. While `over`, the client's turn, is true, nothing begins.
    Status exchange(const remote::Request& request, remote::Reply& reply, const StopToken& stop, const std::atomic<bool>& over);

private:
    Result<Message> unpack(const remote::Request& request, bool& missing) const;
    void keepLarge(const Message& message) const;
    std::unique_lock<std::timed_mutex> awaitMeasuring(const StopToken& stop, const std::atomic<bool>& over); // not locked: it ends unbegun

    const DeviceInfo device_;
    const Lease lease_;
    const std::string client_;
    const std::unique_ptr<KernelExecutor> executor_;
    KeptBlobs& blobs_;
    std::timed_mutex measuring_;
};

} // namespace tunesmith
