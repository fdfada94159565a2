// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/lease_book.h"

#include <algorithm>
#include <tuple>

#include "core/executors/access.h"

namespace tunesmith {
namespace {

constexpr std::size_t kMostAvoided = 64;
constexpr int kHighestPriority = 1'000'000;

double secondsBetween(LeaseBook::Time from, LeaseBook::Time to) { return std::chrono::duration<double>(to - from).count(); }

Status checkWish(const LeaseWish& wish) {
    TS_TRY(checkName(wish.ticket, "a ticket"));
    TS_TRY(checkName(wish.client, "the name of a client"));
    TS_TRY(checkName(wish.key, "the key of a device"));
    if (!wish.machine.empty())
        TS_TRY(checkName(wish.machine, "the key of a machine"));
    if (std::abs(static_cast<long long>(wish.priority)) > kHighestPriority)
        return inputError("priorities are between -" + std::to_string(kHighestPriority) + " and " + std::to_string(kHighestPriority));
    if (wish.avoid.size() > kMostAvoided)
        return inputError("no more than " + std::to_string(kMostAvoided) + " devices can be avoided");
    for (const std::string& device : wish.avoid)
        TS_TRY(checkName(device, "the id of a device"));
    return {};
}

template <class Entry> Status checkShare(const std::vector<Entry>& entries, const std::string& network, std::size_t most, const char* what) {
    if (network.empty() || static_cast<std::size_t>(std::ranges::count(entries, network, &Entry::network)) < most)
        return {};
    return unsupportedError("the tracker has " + std::to_string(most) + " " + what + " from this address and takes no more");
}

} // namespace

LeaseBook::Device* LeaseBook::find(const std::string& secret) {
    const auto found = std::ranges::find_if(devices_, [&](const Device& device) { return sameSecret(device.secret, secret); });
    return found == devices_.end() ? nullptr : &*found;
}

LeaseBook::Device* LeaseBook::holderOf(const std::string& lease) {
    const auto found = std::ranges::find_if(devices_, [&](const Device& device) { return device.held && device.held->lease.id == lease; });
    return found == devices_.end() ? nullptr : &*found;
}

bool LeaseBook::suits(const Device& device, const LeaseWish& wish) {
    return !device.isDeaf() && std::ranges::find(device.info.keys, wish.key) != device.info.keys.end() && (wish.machine.empty() || wish.machine == device.info.machine.key) &&
           std::ranges::find(wish.avoid, device.id) == wish.avoid.end();
}

long long LeaseBook::rank(const Waiter& waiter, Time now) const { return waiter.wish.priority + (now - waiter.since) / timing_.ageing; }

void LeaseBook::free(Device& device, Time now) {
    device.held.reset();
    device.since = now;
}

void LeaseBook::expire(Time now) {
    std::erase_if(devices_, [&](const Device& device) { return now - device.lastBeat > timing_.lost; });
    for (Device& device : devices_)
        if (device.held && !device.held->opened && now - device.since > timing_.opened)
            free(device, now);
    std::erase_if(waiters_, [&](const Waiter& waiter) { return now - waiter.lastAsked > timing_.lost; });
    for (Waiter& waiter : waiters_)
        if (!waiter.granted.empty() && !holderOf(waiter.granted))
            waiter.granted.clear();
}

LeaseBook::Holdings LeaseBook::holdings() const {
    Holdings had;
    for (const Device& device : devices_)
        if (device.held)
            ++had[device.held->lease.client];
    return had;
}

std::vector<LeaseBook::Waiter*> LeaseBook::inOrder(Time now) {
    Holdings had = holdings();
    std::vector<Waiter*> order;
    for (Waiter& waiter : waiters_) {
        if (!waiter.granted.empty())
            continue;
        if (had[waiter.wish.client] > 0)
            waiter.since = now;
        order.push_back(&waiter);
    }
    std::ranges::stable_sort(order, {}, [&](const Waiter* waiter) { return std::tuple(-rank(*waiter, now), had[waiter->wish.client], waiter->since); });
    return order;
}

void LeaseBook::grant(Device& device, Waiter& waiter, Time now) {
    device.held = Held{{newSecret_(), waiter.wish.client, waiter.wish.priority}};
    device.since = now;
    waiter.granted = device.held->lease.id;
}

void LeaseBook::settle(Time now) {
    expire(now);
    std::vector<Waiter*> unserved;
    for (Waiter* waiter : inOrder(now)) {
        const auto device = std::ranges::find_if(devices_, [&](const Device& one) { return !one.held && suits(one, waiter->wish); });
        if (device != devices_.end())
            grant(*device, *waiter, now);
        else
            unserved.push_back(waiter);
    }
    markWanted(unserved, now);
}

void LeaseBook::markWanted(const std::vector<Waiter*>& unserved, Time now) {
    for (Device& device : devices_)
        if (device.held)
            device.held->wanted = false;
    Holdings had = holdings(); // once all that is wanted was given back
    for (const Waiter* waiter : unserved)
        if (Device* device = toGiveBack(*waiter, had, now)) {
            device->held->wanted = true;
            --had[device->held->lease.client];
            ++had[waiter->wish.client];
        }
}

// Devices that the holder of one has with the same priority, and is to keep.
int LeaseBook::equals(const Device& device) const {
    const Lease& lease = device.held->lease;
    return static_cast<int>(std::ranges::count_if(devices_, [&](const Device& one) { return one.held && !one.held->wanted && one.held->lease.client == lease.client && one.held->lease.priority == lease.priority; }));
}

// The one device that its holder should give back first: of the least priority, then the longest held.
LeaseBook::Device* LeaseBook::toGiveBack(const Waiter& waiter, Holdings& had, Time now) {
    const int own = had[waiter.wish.client];
    Device* best = nullptr;
    for (Device& device : devices_) {
        if (!device.held || !device.held->opened || device.held->wanted || device.held->lease.client == waiter.wish.client || !suits(device, waiter.wish))
            continue;
        const long long above = rank(waiter, now) - device.held->lease.priority;
        const auto held = now - device.since;
        if (above < 0 || held < timing_.least || (above == 0 && (held < timing_.turn || (own > 0 && own + 1 >= equals(device)))))
            continue;
        const auto order = [](const Device& one) { return std::pair(one.held->lease.priority, one.since); };
        if (!best || order(device) < order(*best))
            best = &device;
    }
    return best;
}

Result<LeaseBook::Added> LeaseBook::add(const DeviceInfo& device, const std::optional<Lease>& serving, Time now, const std::string& network) {
    TS_TRY(checkDevice(device));
    if (serving) {
        TS_TRY(checkName(serving->id, "a lease"));
        TS_TRY(checkName(serving->client, "the name of a client"));
    }
    const auto known = std::ranges::find(devices_, device.address, [](const Device& one) { return one.info.address; });
    const bool isKnown = known != devices_.end(); // it was restarted
    if (!isKnown && devices_.size() >= kMostDevices)
        return unsupportedError("the tracker knows " + std::to_string(kMostDevices) + " devices and takes no more");
    if (!isKnown || known->network != network)
        TS_TRY(checkShare(devices_, network, kMostDevicesOfNetwork, "devices"));
    std::optional<int> unanswered;
    if (isKnown) {
        unanswered = known->unanswered;
        devices_.erase(known);
    }
    devices_.push_back({newSecret_(), newSecret_(), device, now, now, {}, network, unanswered});
    if (serving && !holderOf(serving->id))
        devices_.back().held = Held{*serving, true, false};
    const Added added{devices_.back().secret, devices_.back().id};
    settle(now);
    return added;
}

void LeaseBook::remove(const std::string& secret) {
    std::erase_if(devices_, [&](const Device& known) { return sameSecret(known.secret, secret); });
}

std::vector<LeaseBook::Place> LeaseBook::places() const {
    std::vector<Place> places;
    for (const Device& device : devices_)
        places.push_back({device.id, device.info.address});
    return places;
}

LeaseBook::Hearing LeaseBook::knocked(const std::string& id, bool answered) {
    const auto device = std::ranges::find(devices_, id, &Device::id);
    if (device == devices_.end())
        return Hearing::same;
    const bool was = device->isDeaf();
    if (answered)
        device->unanswered = 0;
    else if (device->unanswered)
        device->unanswered = std::min(*device->unanswered + 1, 2);
    return was == device->isDeaf() ? Hearing::same : was ? Hearing::back : Hearing::deaf;
}

LeaseBook::BeatAnswer LeaseBook::beat(const std::string& secret, const std::string& lease, Time now) {
    expire(now);
    Device* const device = find(secret);
    if (!device)
        return {};
    device->lastBeat = now;
    if (device->held && device->held->opened && device->held->lease.id != lease)
        free(*device, now);
    settle(now);
    const bool ours = device->held && device->held->lease.id == lease;
    return {true, !lease.empty() && !ours, ours && device->held->wanted};
}

std::optional<Lease> LeaseBook::confirm(const std::string& secret, const std::string& lease, Time now) {
    expire(now);
    Device* const device = find(secret);
    if (!device || !device->held || device->held->lease.id != lease || device->held->opened)
        return std::nullopt;
    device->held->opened = true;
    device->since = device->lastBeat = now;
    std::erase_if(waiters_, [&](const Waiter& waiter) { return waiter.granted == lease; });
    return device->held->lease;
}

Result<LeaseBook::Answer> LeaseBook::ask(const LeaseWish& wish, Time now, const std::string& network) {
    TS_TRY(checkWish(wish));
    expire(now);
    auto waiter = std::ranges::find(waiters_, wish.ticket, [](const Waiter& one) { return one.wish.ticket; });
    if (waiter == waiters_.end()) {
        if (waiters_.size() >= kMostWaiters)
            return unsupportedError(std::to_string(kMostWaiters) + " clients are waiting at the tracker, and it takes no more");
        TS_TRY(checkShare(waiters_, network, kMostWaitersOfNetwork, "clients that wait"));
        waiters_.push_back({wish, now, now, now, network});
    } else {
        waiter->wish = wish;
        waiter->lastAsked = now;
    }
    settle(now);
    const Waiter& asker = *std::ranges::find(waiters_, wish.ticket, [](const Waiter& one) { return one.wish.ticket; });
    Answer answer;
    answer.devices = static_cast<std::size_t>(std::ranges::count_if(devices_, [&](const Device& device) { return suits(device, wish); }));
    if (const Device* device = asker.granted.empty() ? nullptr : holderOf(asker.granted)) {
        answer.lease = device->held->lease;
        answer.device = device->id;
        answer.info = device->info;
        return answer;
    }
    for (const Waiter* other : inOrder(now)) {
        if (other == &asker)
            break;
        answer.ahead += other->wish.key == wish.key ? 1 : 0;
    }
    return answer;
}

void LeaseBook::withdraw(const std::string& ticket) {
    std::erase_if(waiters_, [&](const Waiter& waiter) {
        if (waiter.wish.ticket != ticket)
            return false;
        if (Device* device = waiter.granted.empty() ? nullptr : holderOf(waiter.granted); device && !device->held->opened)
            device->held.reset();
        return true;
    });
}

std::vector<LeaseBook::DeviceState> LeaseBook::devices(Time now) {
    settle(now);
    std::vector<DeviceState> states;
    for (const Device& device : devices_)
        states.push_back({device.info, device.held ? std::optional(device.held->lease) : std::nullopt, secondsBetween(device.since, now), device.isDeaf()});
    return states;
}

std::vector<LeaseBook::Waiting> LeaseBook::waiting(Time now) {
    settle(now);
    std::vector<Waiting> list;
    for (const Waiter* waiter : inOrder(now))
        list.push_back({waiter->wish, secondsBetween(waiter->arrived, now)});
    return list;
}

} // namespace tunesmith
