// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/visitors.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <netinet/in.h>

namespace tunesmith {
namespace {

Peer peerOf(const in_addr& address, in_port_t port) {
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &address, text, sizeof text);
    return {"ipv4:" + std::string(text) + ":" + std::to_string(ntohs(port)), text};
}

Peer peerOf(const sockaddr_in6& v6) {
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        return peerOf(in_addr{v6.sin6_addr.s6_addr32[3]}, v6.sin6_port);
    char text[INET6_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return {"ipv6:[" + std::string(text) + "]:" + std::to_string(ntohs(v6.sin6_port)), std::string(reinterpret_cast<const char*>(v6.sin6_addr.s6_addr), 8)};
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

VisitorLimits limitsFor(std::size_t descriptors) {
    VisitorLimits limits;
    limits.all = std::clamp<std::size_t>(descriptors / 4, 4, limits.all);
    limits.ofNetwork = limits.all / 2;
    limits.unproven = std::min(limits.unproven, limits.all / 2);
    return limits;
}

Visitors::Entered Visitors::enter(const Peer& peer, Time now) {
    const Id id = ++last_;
    unproven_[id] = &(visitors_[id] = {peer, now});
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
    refusals_.erase(found->second.peer.name);
    visitors_.erase(found);
}

void Visitors::prove(const std::string& peer) {
    const auto found = std::ranges::find_if(unproven_, [&](const auto& entry) { return entry.second->peer.name == peer; });
    if (found == unproven_.end())
        return;
    --networks_.at(found->second->peer.network).unproven;
    unproven_.erase(found);
}

std::optional<Visitors::Id> Visitors::refuse(const std::string& peer) {
    const auto found = std::ranges::find_if(visitors_, [&](const auto& entry) { return entry.second.peer.name == peer; });
    return found != visitors_.end() && ++refusals_[peer] > limits_.refusals ? std::optional(found->first) : std::nullopt;
}

void Visitors::forgive(const std::string& peer) { refusals_.erase(peer); }

std::vector<Visitors::Id> Visitors::overdue(Time now, const Sent& sent) const {
    std::vector<Id> ids;
    for (const auto& [id, visitor] : unproven_)
        if (now - visitor->since > limits_.prove || sent(id) > limits_.bytes)
            ids.push_back(id);
    return ids;
}

std::optional<Visitors::Id> Visitors::dispensable() const {
    const auto most = std::ranges::max_element(networks_, {}, [](const auto& entry) { return entry.second.unproven; });
    return most == networks_.end() ? std::nullopt : oldestOf(most->first);
}

std::optional<Visitors::Id> Visitors::oldestOf(const std::string& network) const {
    const auto found = std::ranges::find_if(unproven_, [&](const auto& entry) { return entry.second->peer.network == network; });
    return found == unproven_.end() ? std::nullopt : std::optional(found->first);
}

} // namespace tunesmith
