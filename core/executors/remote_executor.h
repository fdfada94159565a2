// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/executors/remote_session.h"
#include "core/executors/tracker_client.h"
#include "core/executors/traffic.h"

namespace tunesmith {

struct RemoteOptions {
    std::string tracker; // HOST:PORT
    Access access = {};
    std::string key; // of the device
    std::function<int()> priority = {}; // asked before each lease, from any thread; none: 0
    std::string client; // name for people
    KernelWorkerOptions limits = {}; // all but the worker, which is the server's
    LeaseTiming timing = {};
    std::function<void(const std::string&)> tell = {}; // what is being waited for, from any thread; may be empty
    std::function<void(bool)> missing = {}; // in the middle of a call it has lost its device and waits for another one; then: it has one
};

// Builds and measures on a device that the tracker lends. A device that is lost, silent or answers nonsense costs the call one
// more try, on another device or, where there is none, when one comes; a second loss makes the call a crash of its candidate, for
// it may be what kills the servers. Whoever's turn is over gives the device back between two calls and asks again when it needs one.
// All devices that one executor gets are of one kind of machine: that of the first.
class RemoteExecutor : public KernelExecutor {
public:
    // Waits for the first device. An Error when the tracker or the device refuses us, or there is no tracker.
    static Result<std::unique_ptr<RemoteExecutor>> connect(RemoteOptions options, const StopToken& stop);

    // For one more device of the same kind for the same run; it waits for it in await(), or at the first call.
    std::unique_ptr<RemoteExecutor> another() const;

    const DeviceInfo& device() const { return first_; } // the first; others are like it
    const KernelWorkerOptions& options() const override { return options_.limits; }
    Result<MachineRow> machine() const override;
    CallReport build(const Message& request, const StopToken& stop) override;
    CallReport measure(Message request, double seconds, const StopToken& stop) override;
    Status await(const StopToken& stop) override;
    void rest() override;
    bool isElsewhere() const override { return true; }
    double networkMbit() const override { return traffic_.mbit(); }

private:
    RemoteExecutor(RemoteOptions options, std::shared_ptr<TrackerClient> tracker, std::string secret);
    using Session = std::shared_ptr<RemoteSession>;
    CallReport call(const Message& request, double seconds, double patienceSeconds, const StopToken& stop);
    Result<Session> enter(const StopToken& stop, bool inCall);
    Result<LeaseBook::Answer> lease(const StopToken& stop);
    Result<Session> openNext(const StopToken& stop);
    void blame(const std::string& device, const Error& why);
    LeaseWish wish(const std::string& ticket) const;
    std::set<std::string> keptBy(const std::string& device);
    void remember(const std::string& device, const Message& request, const CallReport& report);
    void tell(const std::string& text);

    struct Fault {
        std::chrono::steady_clock::time_point until; // not before that again
        std::chrono::milliseconds pause;
    };

    const RemoteOptions options_;
    const std::shared_ptr<TrackerClient> tracker_;
    const std::string secret_; // of the run
    DeviceInfo first_;
    Traffic traffic_;
    std::mutex waiting_; // held by the one thread that gets the next session; guards session_
    Session session_;
    mutable std::mutex mutex_; // guards what follows
    std::map<std::string, Fault> faults_;                 // by device
    std::map<std::string, std::set<std::string>> kept_; // names of blobs, by device
    std::string told_;
    std::chrono::steady_clock::time_point toldAt_;
};

} // namespace tunesmith
