// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/door.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <fcntl.h>
#include <linux/tcp.h>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "core/base/descriptor.h"
#include "core/executors/access.h"
#include "core/executors/rpc_log.h"

namespace tunesmith {
namespace {

using std::chrono::steady_clock;

constexpr unsigned kSilentMs = 3000;     // what was sent and is not confirmed for so long ends a connection
constexpr int kAtOnce = 64;
constexpr int kTickMs = 250, kWatchfulTickMs = 20, kProvenTickMs = 100; // between two looks at what comes; all looks wake a machine that measures
constexpr std::uint32_t kFirstBytes = EPOLLIN | EPOLLET; // of who was silent: they begin the watchful looks
constexpr std::size_t kFewest = 64;
constexpr int kSpare = 24;               // descriptors that connections leave for everything else
constexpr std::chrono::milliseconds kExhausted{50};
constexpr std::chrono::milliseconds kClosing{1000}, kNoticed{100}; // until gRPC has seen that connections have ended
constexpr std::uint64_t kWake = 0, kListener = std::uint64_t(1) << 63; // what events are about, beside visitors

template <class T> bool set(int fd, int level, int option, T value) { return ::setsockopt(fd, level, option, &value, sizeof value) == 0; }

// Connections inherit the options.
Descriptor listenerAt(const sockaddr* address, socklen_t size) {
    Descriptor fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd.get() < 0)
        return fd;
    const bool ready = set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1) && set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1) && set(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, kSilentMs) &&
                       (address->sa_family != AF_INET6 || set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0)) && ::bind(fd.get(), address, size) == 0 && ::listen(fd.get(), SOMAXCONN) == 0;
    return ready ? std::move(fd) : Descriptor();
}

in_port_t& portOf(sockaddr* address) { return address->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(address)->sin6_port : reinterpret_cast<sockaddr_in*>(address)->sin_port; }

int boundPort(int fd) {
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
    return ntohs(portOf(reinterpret_cast<sockaddr*>(&bound)));
}

// At every address of a name, all with one port.
std::vector<Descriptor> listenAt(const std::string& host, const std::string& port) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    std::vector<Descriptor> listeners;
    if (::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found) != 0)
        return listeners;
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    for (const addrinfo* one = found; one; one = one->ai_next) {
        if (!listeners.empty())
            portOf(one->ai_addr) = htons(static_cast<in_port_t>(boundPort(listeners.front().get())));
        if (Descriptor listener = listenerAt(one->ai_addr, one->ai_addrlen); listener.get() >= 0)
            listeners.push_back(std::move(listener));
    }
    return listeners;
}

std::vector<Descriptor> listenersFor(const std::string& address) {
    const auto colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    const std::string port = address.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    if (isWildcard(address)) // IPv4 is part of it
        if (auto both = listenAt("::", port); !both.empty())
            return both;
    return listenAt(host, port);
}

std::uint64_t bytesFrom(int connection) {
    tcp_info info{};
    socklen_t size = sizeof info;
    return ::getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

// The socket of all its descriptors: what has come is dropped, and the other end hears of it at once.
void reset(int connection) {
    const sockaddr nobody{AF_UNSPEC, {}};
    if (::connect(connection, &nobody, sizeof nobody) != 0)
        ::shutdown(connection, SHUT_RDWR);
}

bool isExhaustion(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

} // namespace

std::size_t raisedDescriptorLimit() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

struct Door::Impl {
    Impl(std::size_t descriptors, VisitorLimits limits) : mostDescriptors(static_cast<int>(std::min<std::size_t>(descriptors, 1 << 30))), visitors(limits) {}

    bool watch(int fd, std::uint64_t what, std::uint32_t events, int how = EPOLL_CTL_ADD) {
        epoll_event event{};
        event.events = events;
        event.data.u64 = what;
        return ::epoll_ctl(poll.get(), how, fd, &event) == 0;
    }
    // Its end is heard of in any case.
    void listenTo(Visitors::Id id, std::uint32_t events) {
        if (const auto found = connections.find(id); found != connections.end())
            watch(found->second.get(), id, events, EPOLL_CTL_MOD);
    }

    void run() {
        std::array<epoll_event, kAtOnce> events;
        for (;;) {
            const int count = ::epoll_wait(poll.get(), events.data(), kAtOnce, endOverdue());
            for (int i = 0; i < count; ++i) {
                const auto [happened, data] = events[static_cast<std::size_t>(i)];
                const std::uint64_t what = data.u64;
                if (what == kWake)
                    return;
                if (what & kListener)
                    acceptSome(static_cast<int>(what & ~kListener));
                else if (happened == EPOLLIN)
                    speaks(what);
                else
                    left(what);
            }
        }
    }

    void acceptSome(int listener) {
        for (int i = 0; i < kAtOnce; ++i) {
            Descriptor connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (connection.get() >= 0)
                take(listener, std::move(connection));
            else if (isExhaustion(errno))
                return makeRoom(std::strerror(errno));
            else if (errno == EAGAIN)
                return;
        }
    }

    void take(int listener, Descriptor connection) {
        sockaddr_storage from{};
        socklen_t size = sizeof from;
        const auto peer = ::getpeername(connection.get(), reinterpret_cast<sockaddr*>(&from), &size) == 0 ? peerOf(from) : std::nullopt;
        if (!peer)
            return; // it has gone
        if (comesTooFast(*peer))
            return reset(connection.get());
        Descriptor own(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
        if (own.get() < 0 || own.get() >= mostDescriptors - kSpare)
            return makeRoom(std::strerror(EMFILE));
        if (admit(*peer, std::move(own)))
            bring(listener, std::move(connection));
    }

    // gRPC reads in the thread that brings it a connection, as long as the caller sends: that one must not be who watches.
    void bring(int listener, Descriptor connection) {
        const std::lock_guard lock(mutex);
        try {
            std::thread([this, listener, fd = connection.get()] {
                handOver(listener, fd);
                const std::lock_guard done(mutex);
                if (--bringing == 0)
                    brought.notify_all();
            }).detach();
            static_cast<void>(connection.release());
            ++bringing;
        } catch (const std::system_error& error) {
            logRefusal("cannot take a connection: " + std::string(error.what()));
        }
    }

    void endUnproven() {
        std::unique_lock lock(mutex);
        const std::vector<Visitors::Id> ids = visitors.unproven();
        for (const Visitors::Id id : ids)
            end(id);
        brought.wait_for(lock, kClosing, [this] { return bringing == 0; });
        lock.unlock();
        if (!ids.empty())
            std::this_thread::sleep_for(kNoticed);
    }

    void awaitBrought() {
        std::unique_lock lock(mutex);
        brought.wait(lock, [this] { return bringing == 0; });
    }

    bool comesTooFast(const Peer& peer) {
        const std::lock_guard lock(mutex);
        if (!visitors.comesTooFast(peer, steady_clock::now()))
            return false;
        logRefusal("refused " + peer.name + ": too many connections come from there at once");
        return true;
    }

    bool admit(const Peer& peer, Descriptor own) {
        const std::lock_guard lock(mutex);
        const Visitors::Entered entered = visitors.enter(peer, steady_clock::now());
        if (watch(own.get(), entered.id, kFirstBytes))
            connections.emplace(entered.id, std::move(own));
        if (entered.goes) {
            logRefusal("there are too many connections when " + peer.name + " comes: refused the oldest that has made no call");
            end(*entered.goes);
        }
        if (connections.contains(entered.id))
            return true;
        visitors.leave(entered.id);
        return false;
    }

    void speaks(Visitors::Id id) {
        const std::lock_guard lock(mutex);
        listenTo(id, 0);
    }

    // The connection is gone, whoever has ended it.
    void left(Visitors::Id id) {
        const std::lock_guard lock(mutex);
        forget(id);
    }

    // gRPC sees the end of the connection, and closes its descriptor. A shutdown would not be enough: gRPC would go on reading as long as the caller sends.
    void end(Visitors::Id id) {
        if (const auto found = connections.find(id); found != connections.end())
            reset(found->second.get());
        forget(id);
    }

    void forget(Visitors::Id id) {
        visitors.leave(id);
        const auto found = connections.find(id);
        if (found == connections.end())
            return;
        ::epoll_ctl(poll.get(), EPOLL_CTL_DEL, found->second.get(), nullptr); // closing it would not: there is gRPC's
        connections.erase(found);
    }

    // Milliseconds until the next look; -1: nothing comes, and there is nobody left to be watched.
    int endOverdue() {
        const std::lock_guard lock(mutex);
        const auto now = steady_clock::now();
        if (now - looked < std::chrono::milliseconds(kWatchfulTickMs)) // a crowd of newcomers wakes more often
            return kWatchfulTickMs;
        looked = now;
        std::unordered_map<Visitors::Id, std::uint64_t> sent;
        std::uint64_t all = 0; // bytes, and visitors
        for (const auto& [id, connection] : connections)
            all += (sent[id] = bytesFrom(connection.get())) + 1;
        const bool areSilent = all == std::exchange(seen, all);
        const auto bytesOf = [&](Visitors::Id id) { return sent.at(id); };
        const auto ids = visitors.overdue(now, bytesOf);
        for (const Visitors::Id id : ids)
            end(id);
        if (!ids.empty())
            logRefusal("refused " + std::to_string(ids.size()) + (ids.size() == 1 ? " connection" : " connections") + " that made no call in time, or sent too much without one");
        if (const auto id = areSilent ? std::nullopt : visitors.flooding(bytesOf)) {
            logRefusal("refused a connection that sent too much that is no message");
            end(*id);
        }
        if (areSilent)
            for (const auto& [id, connection] : connections)
                listenTo(id, kFirstBytes);
        const bool areProven = visitors.areProven();
        return areSilent ? (areProven ? -1 : kTickMs) : areProven ? kProvenTickMs : kWatchfulTickMs;
    }

    void makeRoom(const std::string& why) {
        logRefusal("cannot take connections: " + why + "; raise the limit of open files (ulimit -n)");
        {
            const std::lock_guard lock(mutex);
            for (int i = 0; i < kAtOnce; ++i)
                if (const auto id = visitors.dispensable())
                    end(*id);
        }
        std::this_thread::sleep_for(kExhausted); // who waits is still there after it
    }

    const int mostDescriptors;
    std::string address;
    Descriptor poll, wake;
    std::vector<Descriptor> listeners;
    HandOver handOver;
    std::uint64_t seen = 0; // in the last look
    steady_clock::time_point looked{};
    std::mutex mutex; // guards what follows
    Visitors visitors;
    std::unordered_map<Visitors::Id, Descriptor> connections; // a second descriptor of each
    int bringing = 0; // threads
    std::condition_variable brought; // all
    std::thread thread;
};

Door::Door(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Door::~Door() {
    close();
    impl_->awaitBrought();
}

const std::string& Door::address() const { return impl_->address; }

Result<std::unique_ptr<Door>> Door::open(const std::string& address, std::uint64_t headers) {
    const std::size_t descriptors = raisedDescriptorLimit();
    if (descriptors < kFewest)
        return ioError("listening takes at least " + std::to_string(kFewest) + " open files, and this process may have " + std::to_string(descriptors) + "; raise the limit (ulimit -n)");
    VisitorLimits limits = limitsFor(descriptors);
    limits.headers = headers;
    auto impl = std::make_unique<Impl>(descriptors, limits);
    impl->listeners = listenersFor(address);
    if (impl->listeners.empty())
        return ioError("cannot listen at " + address + ": it is taken, or not an address of this machine");
    impl->address = address.substr(0, address.rfind(':')) + ":" + std::to_string(boundPort(impl->listeners.front().get()));
    impl->poll = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    impl->wake = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    bool ready = impl->poll.get() >= 0 && impl->wake.get() >= 0 && impl->watch(impl->wake.get(), kWake, EPOLLIN);
    for (const Descriptor& listener : impl->listeners)
        ready = ready && impl->watch(listener.get(), kListener | static_cast<std::uint64_t>(listener.get()), EPOLLIN);
    if (!ready)
        return ioError("cannot listen at " + address + ": " + std::strerror(errno));
    return std::unique_ptr<Door>(new Door(std::move(impl)));
}

void Door::begin(HandOver handOver) {
    impl_->handOver = std::move(handOver);
    impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

void Door::close() {
    ::eventfd_write(impl_->wake.get(), 1);
    if (impl_->thread.joinable())
        impl_->thread.join();
    impl_->listeners.clear();
    impl_->endUnproven();
}

void Door::letIn(const std::string& peer) {
    const std::lock_guard lock(impl_->mutex);
    impl_->visitors.prove(peerName(peer));
}

void Door::refuse(const std::string& peer) {
    const std::lock_guard lock(impl_->mutex);
    if (const auto id = impl_->visitors.refuse(peerName(peer)))
        impl_->end(*id);
}

void Door::received(const std::string& peer) {
    const std::lock_guard lock(impl_->mutex);
    if (const auto id = impl_->visitors.find(peerName(peer)))
        if (const auto found = impl_->connections.find(*id); found != impl_->connections.end())
            impl_->visitors.received(*id, bytesFrom(found->second.get()));
}

void Door::forgive(const std::string& peer) {
    const std::lock_guard lock(impl_->mutex);
    impl_->visitors.forgive(peerName(peer));
}

} // namespace tunesmith
