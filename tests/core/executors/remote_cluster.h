// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QStringList>
#include <mutex>

#include "core/base/log.h"
#include "core/executors/device_server.h"
#include "core/executors/mock_executor.h"
#include "core/executors/remote_executor.h"
#include "core/executors/tracker.h"
#include "core/schedule/kernel_messages.h"
#include "remote_testing.h"
#include "tests/take.h"

namespace tunesmith::testing {

// A tracker, servers and clients of one process, with short times.
struct Cluster {
    explicit Cluster(Access given = {}, const LeaseTiming& timing = quickTiming()) : access(std::move(given)) {
        setLogSink([this](LogLevel, const std::string& text) {
            const std::lock_guard lock(logging);
            lines << QString::fromStdString(text);
        });
        tracker = take(Tracker::start({"127.0.0.1:0", access, timing}));
    }
    ~Cluster() {
        servers.clear();
        tracker.reset();
        setLogSink({});
    }

    DeviceServerOptions serverOptions(const std::string& name, const std::string& key = "cpu", const std::string& machine = "machine") {
        DeviceServerOptions options;
        options.tracker = tracker->address();
        options.access = access;
        options.device = testDevice(name, key);
        options.device.machine.key = machine;
        options.timing = quickTiming();
        return options;
    }
    DeviceServer& addMock(const std::string& name, double profileMs = 5, const std::string& key = "cpu", const std::string& machine = "machine") {
        DeviceServerOptions options = serverOptions(name, key, machine);
        options.makeExecutor = [profileMs, row = options.device.machine](const KernelWorkerOptions& limits) -> Result<std::unique_ptr<KernelExecutor>> {
            return std::unique_ptr<KernelExecutor>(std::make_unique<MockExecutor>(MockOptions{1, profileMs, 16 << 10, row}, limits));
        };
        return add(std::move(options));
    }
    DeviceServer& add(DeviceServerOptions options) {
        servers.push_back(take(DeviceServer::start(std::move(options))));
        return *servers.back();
    }
    RemoteOptions clientOptions(const std::string& client, const std::string& key = "cpu") {
        RemoteOptions options;
        options.tracker = tracker->address();
        options.access = access;
        options.key = key;
        options.client = client;
        options.timing = quickTiming();
        return options;
    }
    std::unique_ptr<RemoteExecutor> connect(const std::string& client, int priority = 0) {
        RemoteOptions options = clientOptions(client);
        options.priority = [priority] { return priority; };
        return take(RemoteExecutor::connect(std::move(options), {}));
    }
    bool logged(const QString& text) {
        const std::lock_guard lock(logging);
        return !lines.filter(text).isEmpty();
    }

    qsizetype longestLine() {
        const std::lock_guard lock(logging);
        qsizetype longest = 0;
        for (const QString& line : lines)
            longest = std::max(longest, line.size());
        return longest;
    }

    Access access;
    std::mutex logging; // guards lines
    QStringList lines;
    std::unique_ptr<Tracker> tracker;
    std::vector<std::unique_ptr<DeviceServer>> servers;
};

inline Message mockBuild(int i = 0) {
    Message request = workloadRequest("build_kernel", "0123456789abcdef", "a workload", {Isa::avx2, "znver4", 1});
    request.body["config"] = std::to_string(i);
    return request;
}

inline Message mockProfile(const CallReport& built) {
    Message request = workloadRequest("profile_kernel", "0123456789abcdef", "a workload", {Isa::avx2, "znver4", 1});
    request.body["kernel"] = built.reply.body.at("kernel");
    request.blobs.push_back(built.reply.blobs.at(0));
    return request;
}

} // namespace tunesmith::testing
