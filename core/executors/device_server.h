// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>

#include "core/executors/access.h"
#include "core/executors/lease_book.h"
#include "core/schedule/kernel_executor.h"

namespace tunesmith {

// Limits are the client's as far as a server allows them; the worker is the server's.
using ExecutorFactory = std::function<Result<std::unique_ptr<KernelExecutor>>(const KernelWorkerOptions& options)>;

struct DeviceServerOptions {
    std::string listen = "127.0.0.1:0";
    std::string advertised = {}; // host by which clients reach it; empty: that of `listen`
    std::string tracker;
    Access access = {};
    DeviceInfo device; // all but its address
    WorkerOptions worker = {}; // its limit of memory is that of all workers together
    ExecutorFactory makeExecutor = {}; // empty: KernelWorkers
    LeaseTiming timing = {};
    StopToken stop = {}; // ends the start, too, which waits for the tracker's answer
};

// Offers this machine, or a part of it, to the clients of a tracker, one at a time, from threads of its own. A client has a lease
// from the tracker, and workers that nobody had before it; they are killed when it goes, is lost, or its lease ends. Where the
// tracker goes, clients are served on, and the next tracker is told. What it refuses it logs.
class DeviceServer {
public:
    // An Error where it cannot listen or the tracker refuses it; one that is not there is waited for.
    static Result<std::unique_ptr<DeviceServer>> start(DeviceServerOptions options);
    ~DeviceServer();
    const std::string& address() const;

private:
    struct Impl;
    explicit DeviceServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace tunesmith
