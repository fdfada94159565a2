// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/visitors.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>
#include <utility>

namespace tunesmith {
namespace {

Peer peerOf(const in_addr& address, in_port_t port) {
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &address, text, sizeof text);
    return {"ipv4:" + std::string(text) + ":" + std::to_string(ntohs(port)), text, {}};
}

Peer peerOf(const sockaddr_in6& v6) {
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        return peerOf(in_addr{v6.sin6_addr.s6_addr32[3]}, v6.sin6_port);
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return {"ipv6:[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port)), std::string(reinterpret_cast<const char*>(v6.sin6_addr.s6_addr), 8),
            std::string(reinterpret_cast<const char*>(v6.sin6_addr.s6_addr), 6)};
}

} // namespace

std::optional<Peer> peerOf(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET) {
        const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
        return peerOf(v4.sin_addr, v4.sin_port);
    }
    if (address.ss_family == AF_INET6)
        return peerOf(reinterpret_cast<const sockaddr_in6&>(address));
    return {};
}

std::string peerName(const std::string& uri) {
    std::string name;
    for (std::size_t i = 0; i < uri.size(); ++i) // brackets are written %5B and %5D
        if (uri.compare(i, 3, "%5B") == 0 || uri.compare(i, 3, "%5D") == 0) {
            name += uri[i + 2] == 'B' ? '[' : ']';
            i += 2;
        } else {
            name += uri[i];
        }
    const auto scope = name.find('%'), end = name.find(']');
    return scope != std::string::npos && end != std::string::npos && scope < end ? name.erase(scope, end - scope) : name;
}

std::string networkOf(const std::string& uri) {
    const std::string name = peerName(uri);
    const auto first = name.find(':'), last = name.rfind(':');
    if (first == last)
        return {};
    std::string host = name.substr(first + 1, last - first - 1);
    sockaddr_in6 v6{};
    if (!host.starts_with('[') || !host.ends_with(']'))
        return host;
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6.sin6_addr) == 1 ? peerOf(v6).network : std::string();
}

VisitorLimits limitsFor(std::size_t descriptors) {
    VisitorLimits limits;
    limits.all = std::clamp<std::size_t>(descriptors / 4, 4, limits.all);
    limits.ofNetwork = limits.all / 2;
    limits.unproven = std::min(limits.unproven, limits.all / 2);
    return limits;
}

bool Visitors::comesTooFast(const Peer& peer, Time now) {
    constexpr int kNetworksOfSite = 16;
    forgetSlow(now);
    return isAhead(peer.network, 1, now) || (!peer.site.empty() && isAhead(peer.site, kNetworksOfSite, now));
}

// Of the pace of so many networks.
bool Visitors::isAhead(const std::string& whose, int networks, Time now) {
    const auto step = std::chrono::nanoseconds(std::chrono::seconds(1)) / (limits_.perSecond * networks);
    Time& pace = pace_[whose];
    if (pace - now > limits_.atOnce * networks * step)
        return true;
    pace = std::max(pace, now) + step;
    return false;
}

// A peer with that many networks gets round the pace; the limit of all connections still holds.
void Visitors::forgetSlow(Time now) {
    if (pace_.size() < 2 * limits_.all)
        return;
    std::erase_if(pace_, [&](const auto& entry) { return entry.second <= now; });
    if (pace_.size() >= 2 * limits_.all)
        pace_.clear();
}

Visitors::Entered Visitors::enter(const Peer& peer, Time now) {
    const Id id = ++last_;
    unproven_[id] = &(visitors_[id] = {peer, now});
    ids_[peer.name] = id;
    Count& own = networks_[peer.network];
    ++own.all;
    ++own.unproven;
    if (own.all > limits_.ofNetwork)
        return {id, oldestOf(peer.network)};
    return {id, visitors_.size() > limits_.all || unproven_.size() > limits_.unproven ? dispensable() : std::nullopt};
}

void Visitors::leave(Id id) {
    const auto found = visitors_.find(id);
    if (found == visitors_.end())
        return;
    const auto network = networks_.find(found->second.peer.network);
    network->second.unproven -= unproven_.erase(id);
    if (--network->second.all == 0)
        networks_.erase(network);
    if (const auto named = ids_.find(found->second.peer.name); named->second == id) { // else another one has its name by now
        refusals_.erase(named->first);
        ids_.erase(named);
    }
    visitors_.erase(found);
}

std::optional<Visitors::Id> Visitors::find(const std::string& peer) const {
    const auto found = ids_.find(peer);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

void Visitors::prove(const std::string& peer) {
    const auto id = find(peer);
    const auto found = id ? unproven_.find(*id) : unproven_.end();
    if (found == unproven_.end())
        return;
    --networks_.at(found->second->peer.network).unproven;
    unproven_.erase(found);
}

std::optional<Visitors::Id> Visitors::refuse(const std::string& peer) {
    const auto id = find(peer);
    return id && ++refusals_[peer] > limits_.refusals ? id : std::nullopt;
}

void Visitors::received(Id id, std::uint64_t bytes) {
    if (const auto found = visitors_.find(id); found != visitors_.end())
        found->second.accounted = bytes;
}

std::optional<Visitors::Id> Visitors::flooding(const Sent& sent) const {
    std::uint64_t all = 0, most = 0;
    std::optional<Id> of;
    for (const auto& [id, visitor] : visitors_) {
        const std::uint64_t bytes = sent(id), open = bytes - std::min(bytes, visitor.accounted);
        all += open;
        if (open > std::exchange(most, std::max(most, open)))
            of = id;
    }
    return all > limits_.headers ? of : std::nullopt;
}

void Visitors::forgive(const std::string& peer) { refusals_.erase(peer); }

std::vector<Visitors::Id> Visitors::overdue(Time now, const Sent& sent) const {
    std::vector<Id> ids;
    for (const auto& [id, visitor] : unproven_)
        if (now - visitor->since > limits_.prove || sent(id) > limits_.bytes)
            ids.push_back(id);
    return ids;
}

std::vector<Visitors::Id> Visitors::unproven() const {
    std::vector<Id> ids;
    for (const auto& entry : unproven_)
        ids.push_back(entry.first);
    return ids;
}

std::optional<Visitors::Id> Visitors::dispensable() const {
    std::size_t most = 0;
    for (const auto& [network, count] : networks_)
        most = std::max(most, count.unproven);
    const auto found = std::ranges::find_if(unproven_, [&](const auto& entry) { return networks_.at(entry.second->peer.network).unproven == most; });
    return found == unproven_.end() ? std::nullopt : std::optional(found->first);
}

std::optional<Visitors::Id> Visitors::oldestOf(const std::string& network) const {
    const auto found = std::ranges::find_if(unproven_, [&](const auto& entry) { return entry.second->peer.network == network; });
    return found == unproven_.end() ? std::nullopt : std::optional(found->first);
}

} // namespace tunesmith
