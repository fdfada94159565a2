// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace tunesmith {

// The other end of a connection.
struct Peer {
    std::string name;    // like gRPC's: ipv4:10.0.0.3:41854
    std::string network; // all whose limits it shares: an IPv4 address, the first half of an IPv6 one
    std::string site = {}; // all whose pace it shares as well, 16 times that of a network: the first 48 bits of an IPv6 address; else empty
};
std::optional<Peer> peerOf(const sockaddr_storage& address);
std::string peerName(const std::string& uri); // of what gRPC calls a peer
std::string networkOf(const std::string& uri); // likewise; empty: none that is known

struct VisitorLimits {
    std::size_t all = 4096;
    std::size_t ofNetwork = 2048;
    std::size_t unproven = 256; // that have not made a call which was let in ...
    std::chrono::milliseconds prove{10'000}; // ... how long they may take ...
    std::uint64_t bytes = 256 << 10;         // ... and how much they may have sent: more than HTTP/2 lets them before somebody reads it
    int refusals = 16;                       // one after the other, of calls that are none, or without a token
    std::uint64_t headers = 256 << 20; // bytes that all of them together may have sent since their last messages: what gRPC keeps until it has read them
    int atOnce = 512, perSecond = 200;       // newcomers of a network, at once and in the long run: each costs gRPC half a millisecond
};
// The limits of a process with so many descriptors: connections take half of them, two each.
VisitorLimits limitsFor(std::size_t descriptors);

// Keeps the list of connections to a tracker or a server, without network, clock or threads (time comes with each call, and never goes back). A connection
// whose call was let in stays until too many of its calls were refused. Any other ends after a while or after many bytes; where there are too many, one of the
// network that has most of them ends, the oldest where several have. Newcomers of a network that come too fast are not let in at all. So silent connections keep
// nobody out, and those of one place harm no other.
class Visitors {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Id = std::uint64_t;
    explicit Visitors(VisitorLimits limits) : limits_(limits) {}

    struct Entered {
        Id id;
        std::optional<Id> goes; // for it; perhaps itself
    };
    bool comesTooFast(const Peer& peer, Time now); // asked once for each newcomer, which is not to enter then
    Entered enter(const Peer& peer, Time now);
    void leave(Id id);
    void prove(const std::string& peer); // its name
    std::optional<Id> refuse(const std::string& peer); // a call of it; who goes after too many, one after the other
    void forgive(const std::string& peer); // a call of it was one
    std::optional<Id> find(const std::string& peer) const;
    void received(Id id, std::uint64_t bytes); // a message of it, that it has sent so many bytes with
    using Sent = std::function<std::uint64_t(Id id)>; // bytes that have come
    std::vector<Id> overdue(Time now, const Sent& sent) const;
    // Who goes where all have sent too much that is no message: who has sent most. Headers without end are known by that; gRPC keeps them, whatever its limits are.
    std::optional<Id> flooding(const Sent& sent) const;
    bool areProven() const { return unproven_.empty(); }
    std::vector<Id> unproven() const;
    std::optional<Id> dispensable() const; // who goes where there is no room
    std::size_t size() const { return visitors_.size(); }

private:
    struct Visitor {
        Peer peer;
        Time since;
        std::uint64_t accounted = 0; // bytes, until its last message
    };
    struct Count {
        std::size_t all = 0, unproven = 0;
    };
    std::optional<Id> oldestOf(const std::string& network) const;
    bool isAhead(const std::string& whose, int networks, Time now);
    void forgetSlow(Time now);

    const VisitorLimits limits_;
    Id last_ = 0;
    std::map<Id, Visitor> visitors_;
    std::map<std::string, Id> ids_; // by name
    std::map<Id, const Visitor*> unproven_; // the oldest first
    std::map<std::string, int> refusals_; // of the last calls, by name
    std::map<std::string, Count> networks_;
    std::map<std::string, Time> pace_; // of networks: when all that came would have come at the pace of the long run
};

} // namespace tunesmith
