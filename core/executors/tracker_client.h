// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <memory>

#include "core/base/stop_token.h"
#include "core/executors/access.h"
#include "core/executors/lease_book.h"

namespace tunesmith {

// The tracker as its callers see it. Each call takes at most kTrackerPatience; an `io` error means that there is no tracker now
// and perhaps later, an `input` error that it will never take this call. From several threads.
inline constexpr std::chrono::milliseconds kTrackerPatience{3000};

class TrackerClient {
public:
    // `stop` ends all its calls, but leave() and withdraw(), which take half a second at most.
    static Result<std::unique_ptr<TrackerClient>> make(const std::string& address, const Access& access, StopToken stop = {});
    ~TrackerClient();

    // Of servers: the secret that add() gives is a device's name in the other calls.
    Result<std::string> add(const DeviceInfo& device, const std::optional<Lease>& serving);
    Status leave(const std::string& secret);
    Result<LeaseBook::BeatAnswer> beat(const std::string& secret, const std::string& lease);
    Result<std::optional<Lease>> confirm(const std::string& secret, const std::string& lease);

    // Of clients.
    Result<LeaseBook::Answer> ask(const LeaseWish& wish, const StopToken& stop = {});
    void withdraw(const std::string& ticket);

    struct Device {
        DeviceInfo info;
        std::string client; // empty: free
        int priority = 0;
        double seconds = 0;
        bool deaf = false; // its server does not answer the tracker
    };
    struct Waiting {
        std::string client, key;
        int priority = 0;
        double seconds = 0;
    };
    struct List {
        std::vector<Device> devices;
        std::vector<Waiting> waiting;
    };
    Result<List> list();

private:
    struct Impl;
    explicit TrackerClient(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace tunesmith
