// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/executors/device.h"

namespace tunesmith {

struct LeaseTiming {
    std::chrono::milliseconds beat{1000};    // between two signs of life
    std::chrono::milliseconds lost{5000};    // without one a device or a client is gone
    std::chrono::milliseconds opened{5000};  // in which a client must have come for what it was given
    std::chrono::milliseconds least{2000};   // of a lease, whoever else may want the device ...
    std::chrono::milliseconds turn{30'000};  // ... and if somebody of the same priority does
    std::chrono::milliseconds ageing{60'000}; // of waiting count as one priority more: nobody waits for ever
    std::chrono::milliseconds over{10'000};  // after a turn, in which its client may still begin calls ...
    std::chrono::milliseconds last{120'000}; // ... and after that, in which those that have begun may end
    std::chrono::milliseconds knock{10'000}; // between two looks whether a server takes connections
};

inline constexpr std::size_t kMostDevices = 4096, kMostWaiters = 16384; // that a tracker knows ...
inline constexpr std::size_t kMostDevicesOfNetwork = 512, kMostWaitersOfNetwork = 1024; // ... and of callers from one address: who has the token and means harm leaves room for others

struct LeaseWish {
    std::string ticket; // chosen by the client: asking again with it is asking how things stand
    std::string client; // for people; all wishes of one run have the same
    std::string key;
    std::string machine = {}; // key of the only kind of machine that will do; empty: any
    int priority = 0;         // larger ones first
    std::vector<std::string> avoid = {}; // ids of devices that have just failed
};

struct Lease {
    std::string id; // a secret of tracker, client and server
    std::string client;
    int priority = 0;
};

// Which device of which key is whose: the tracker without a network, a clock or threads (time comes with each call, and never
// goes back). Wishes are granted by priority, then to who has the fewest devices, then first come. A client may have several: it takes none from itself, and from others of its
// priority only what leaves them no fewer of that priority than it then has. A lease is granted, opened when the server confirms it, and over
// when the server's beats no longer name it; a server that is silent takes its lease with it. Leases are not taken away:
// whose turn is over is asked to give the device back between two calls.
class LeaseBook {
public:
    using Time = std::chrono::steady_clock::time_point;
    using NewSecret = std::function<std::string()>;
    LeaseBook(LeaseTiming timing, NewSecret newSecret) : timing_(timing), newSecret_(std::move(newSecret)) {}

    struct Added {
        std::string secret; // of its server, by which it is known from now on
        std::string id;     // for everybody: to be avoided by, and for nothing else
    };
    // `serving`: the lease that it is serving, from a tracker that is no more. `network`: where the call comes from; empty: not known.
    Result<Added> add(const DeviceInfo& device, const std::optional<Lease>& serving, Time now, const std::string& network = {});
    void remove(const std::string& secret);
    struct BeatAnswer {
        bool known = false; // else it has to be added again
        bool revoked = false; // the lease that it serves is not one of this book
        bool wanted = false;  // somebody else's turn
    };
    BeatAnswer beat(const std::string& secret, const std::string& lease, Time now);
    std::optional<Lease> confirm(const std::string& secret, const std::string& lease, Time now);
    // The tracker knocks at servers and tells whether they answered. A server that answered once, and then misses two knocks in a row, is deaf: nobody is
    // lent its device until it answers. A server that never answered may be reached by clients all the same.
    struct Place {
        std::string id, address;
    };
    std::vector<Place> places() const;
    enum class Hearing { same, deaf, back };
    Hearing knocked(const std::string& id, bool answered);

    struct Answer {
        std::optional<Lease> lease = {};
        std::string device = {}; // id
        DeviceInfo info = {};
        std::size_t devices = 0; // that could serve the wish
        std::size_t ahead = 0;   // wishes for them that come first
    };
    Result<Answer> ask(const LeaseWish& wish, Time now, const std::string& network = {});
    void withdraw(const std::string& ticket);

    struct DeviceState {
        DeviceInfo device;
        std::optional<Lease> lease;
        double seconds = 0; // of the lease, or free
        bool deaf = false;
    };
    struct Waiting {
        LeaseWish wish;
        double seconds = 0;
    };
    std::vector<DeviceState> devices(Time now);
    std::vector<Waiting> waiting(Time now);

private:
    struct Held {
        Lease lease;
        bool opened = false, wanted = false;
    };
    struct Device {
        std::string secret, id;
        DeviceInfo info;
        Time lastBeat, since; // since: of the lease, or of being free
        std::optional<Held> held;
        std::string network = {};
        std::optional<int> unanswered = {}; // knocks, one after the other, since one was answered
        bool isDeaf() const { return unanswered && *unanswered > 1; }
    };
    struct Waiter {
        LeaseWish wish;
        Time arrived, lastAsked;
        Time since; // it has waited without any device; what ageing counts
        std::string network = {};
        std::string granted = {}; // id of a lease
    };
    void settle(Time now);
    void expire(Time now);
    void grant(Device& device, Waiter& waiter, Time now);
    void free(Device& device, Time now);
    using Holdings = std::map<std::string, int>; // devices of each client
    Holdings holdings() const;
    void markWanted(const std::vector<Waiter*>& unserved, Time now);
    int equals(const Device& device) const;
    Device* toGiveBack(const Waiter& waiter, Holdings& had, Time now);
    std::vector<Waiter*> inOrder(Time now);
    long long rank(const Waiter& waiter, Time now) const; // priority with what waiting adds
    Device* find(const std::string& secret);
    Device* holderOf(const std::string& lease);
    static bool suits(const Device& device, const LeaseWish& wish);

    LeaseTiming timing_;
    NewSecret newSecret_;
    std::vector<Device> devices_; // in the order in which they came
    std::vector<Waiter> waiters_; // likewise
};

} // namespace tunesmith
