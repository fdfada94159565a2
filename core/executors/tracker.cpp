// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/tracker.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/helpers.h"
#include "core/base/log.h"
#include "core/executors/guarded_service.h"
#include "core/executors/knock.h"
#include "core/executors/remote.pb.h"
#include "core/executors/rpc.h"
#include "core/executors/wire.h"

namespace tunesmith {
namespace {

using grpc::ServerContext;
using std::chrono::steady_clock;

constexpr int kMostQuestions = 32; // of one connection at once; a run with more devices than that asks in turns
constexpr const char* kNoCeilings = "{}";
constexpr std::size_t kMostKnocks = 64; // at once
constexpr std::chrono::milliseconds kKnockPatience{3000};
constexpr std::chrono::milliseconds kPatience = longestWay(kLargestQuestion) + std::chrono::seconds(2);

LeaseWish fromWire(const remote::Wish& wire) {
    return {wire.ticket(), wire.client(), wire.key(), wire.machine(), wire.priority(), {wire.avoid().begin(), wire.avoid().end()}};
}

} // namespace

struct Tracker::Impl final : GuardedService {
    explicit Impl(const TrackerOptions& options) : GuardedService(options.access), tls(!options.access.certificate.empty()), timing(options.timing), book(options.timing, newSecret) {
        serve("/tunesmith.remote.Tracker/Register", &Impl::enlist);
        serve("/tunesmith.remote.Tracker/Leave", &Impl::leave);
        serve("/tunesmith.remote.Tracker/SendBeat", &Impl::beat);
        serve("/tunesmith.remote.Tracker/Confirm", &Impl::confirm);
        serve("/tunesmith.remote.Tracker/Ask", &Impl::ask);
        serve("/tunesmith.remote.Tracker/Withdraw", &Impl::withdraw);
        serve("/tunesmith.remote.Tracker/List", &Impl::list);
    }

    using Time = steady_clock::time_point;
    template <class Request, class Answer> using Work = Status (Impl::*)(const Request& request, Answer& answer, Time now, const std::string& network);

    // Each call: what is asked, then the book under its lock.
    template <class Request, class Answer> void serve(const char* method, Work<Request, Answer> work) {
        add(method, [this, work](ServerContext& context, Stream& stream) {
            const std::string network = networkOf(context.peer());
            Request request;
            Answer answer;
            if (grpc::Status read = receive(context, stream, {kLargestQuestion}, kPatience, request); !read.ok())
                return read;
            const Status done = [&] {
                const std::lock_guard lock(mutex);
                return (this->*work)(request, answer, steady_clock::now(), network);
            }();
            return done.ok() ? send(context, stream, answer) : toStatus(done.error());
        });
    }

    Status enlist(const remote::Registration& request, remote::Registered& answer, Time now, const std::string& network) {
        TS_TRY(checkProtocol(request.protocol()));
        TS_ASSIGN(const DeviceInfo device, tunesmith::fromWire(request.device()));
        std::optional<Lease> serving;
        if (request.has_served())
            serving = Lease{request.served().lease(), request.served().client(), request.served().priority()};
        TS_ASSIGN(const LeaseBook::Added added, book.add(device, serving, now, network));
        answer.set_device_secret(added.secret);
        logMessage(LogLevel::info, "device " + device.name + " at " + device.address);
        return {};
    }
    Status leave(const remote::Leaving& request, remote::Nothing&, Time, const std::string&) { return book.remove(request.device_secret()), Status(); }
    Status beat(const remote::Beat& request, remote::BeatAnswer& answer, Time now, const std::string&) {
        const LeaseBook::BeatAnswer made = book.beat(request.device_secret(), request.lease(), now);
        answer.set_known(made.known);
        answer.set_revoked(made.revoked);
        answer.set_wanted(made.wanted);
        return {};
    }
    Status confirm(const remote::Confirmation& request, remote::Confirmed& answer, Time now, const std::string&) {
        const auto lease = book.confirm(request.device_secret(), request.lease(), now);
        answer.set_valid(lease.has_value());
        answer.set_client(lease ? lease->client : std::string());
        answer.set_priority(lease ? lease->priority : 0);
        return {};
    }
    Status ask(const remote::Wish& request, remote::WishAnswer& answer, Time now, const std::string& network) {
        TS_TRY(checkProtocol(request.protocol()));
        TS_ASSIGN(const LeaseBook::Answer made, book.ask(fromWire(request), now, network));
        answer.set_devices(static_cast<std::uint32_t>(made.devices));
        answer.set_ahead(static_cast<std::uint32_t>(made.ahead));
        if (!made.lease)
            return {};
        answer.set_lease(made.lease->id);
        answer.set_device_id(made.device);
        toWire(made.info, *answer.mutable_device());
        return {};
    }
    Status withdraw(const remote::Withdrawal& request, remote::Nothing&, Time, const std::string&) { return book.withdraw(request.ticket()), Status(); }
    Status list(const remote::ListRequest&, remote::DeviceList& answer, Time now, const std::string&) {
        std::size_t ceilings = 0; // bytes
        for (const LeaseBook::DeviceState& state : book.devices(now)) {
            remote::DeviceState& wire = *answer.add_devices();
            toWire(state.device, *wire.mutable_device());
            if ((ceilings += state.device.machine.ceilings.size()) > kMostCeilings)
                wire.mutable_device()->mutable_machine()->set_ceilings(kNoCeilings);
            wire.set_client(state.lease ? state.lease->client : std::string());
            wire.set_priority(state.lease ? state.lease->priority : 0);
            wire.set_seconds(state.seconds);
            wire.set_deaf(state.deaf);
        }
        for (const LeaseBook::Waiting& waiting : book.waiting(now)) {
            remote::WaitingClient& wire = *answer.add_waiting();
            wire.set_client(waiting.wish.client);
            wire.set_key(waiting.wish.key);
            wire.set_priority(waiting.wish.priority);
            wire.set_seconds(waiting.seconds);
        }
        return {};
    }

    // A server that beats may still take no connections, and would cost one client after the other.
    void knockAtAll() {
        const std::size_t atOnce = std::clamp<std::size_t>(raisedDescriptorLimit() / 8, 1, kMostKnocks);
        std::unique_lock lock(mutex);
        while (!wake.wait_for(lock, timing.knock, [this] { return closing.stopRequested(); })) {
            const std::vector<LeaseBook::Place> places = book.places();
            for (std::size_t first = 0; first < places.size() && !closing.stopRequested(); first += atOnce) {
                std::vector<std::string> addresses;
                for (std::size_t i = first; i < std::min(places.size(), first + atOnce); ++i)
                    addresses.push_back(places[i].address);
                lock.unlock();
                const std::vector<Knock> answers = knock(addresses, tls, std::min(kKnockPatience, timing.lost), closing.token());
                lock.lock();
                for (std::size_t i = 0; i < answers.size() && !closing.stopRequested(); ++i)
                    if (answers[i] != Knock::untold)
                        note(places[first + i], answers[i] == Knock::answered);
            }
        }
    }
    void note(const LeaseBook::Place& place, bool answered) {
        const LeaseBook::Hearing hearing = book.knocked(place.id, answered);
        if (hearing == LeaseBook::Hearing::deaf)
            logMessage(LogLevel::warning, "the device at " + place.address + " takes no connections: it is lent to nobody until it does");
        if (hearing == LeaseBook::Hearing::back)
            logMessage(LogLevel::info, "the device at " + place.address + " takes connections again");
    }
    void close() {
        listener.close();
        {
            const std::lock_guard lock(mutex);
            closing.requestStop();
        }
        wake.notify_all();
        if (knocker.joinable())
            knocker.join();
    }

    const bool tls;
    const LeaseTiming timing;
    std::mutex mutex; // guards what follows
    LeaseBook book;
    StopSource closing;
    std::condition_variable wake;
    std::jthread knocker;
    Listener listener;
};

Tracker::Tracker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Tracker::~Tracker() { impl_->close(); }

const std::string& Tracker::address() const { return impl_->listener.address(); }

Result<std::unique_ptr<Tracker>> Tracker::start(const TrackerOptions& options) {
    auto impl = std::make_unique<Impl>(options);
    TS_ASSIGN(impl->listener, listenAt(options.listen, options.access, *impl, {kLargestQuestion, kMostQuestions}));
    warnOfOtherHost(options.access, options.listen);
    TS_ASSIGN(impl->knocker, startThread([raw = impl.get()] { raw->knockAtAll(); }));
    return std::unique_ptr<Tracker>(new Tracker(std::move(impl)));
}

} // namespace tunesmith
