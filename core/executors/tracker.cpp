// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/tracker.h"

#include <mutex>

#include "core/base/log.h"
#include "core/executors/remote.grpc.pb.h"
#include "core/executors/rpc.h"
#include "core/executors/wire.h"

namespace tunesmith {
namespace {

using grpc::ServerContext;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kClosing{200};

LeaseWish fromWire(const remote::Wish& wire) {
    return {wire.ticket(), wire.client(), wire.key(), wire.machine(), wire.priority(), {wire.avoid().begin(), wire.avoid().end()}};
}

} // namespace

struct Tracker::Impl final : remote::Tracker::Service {
    explicit Impl(const TrackerOptions& options) : access(options.access), book(options.timing, newSecret) {}

    // Every call: the token, then the book under its lock.
    template <class Request, class Work> grpc::Status serve(const ServerContext& context, const Request& request, const Work& work) {
        if (grpc::Status caller = checkCaller(context, access); !caller.ok())
            return caller;
        if (grpc::Status size = checkSize(request.ByteSizeLong(), kLargestQuestion); !size.ok())
            return size;
        const std::lock_guard lock(mutex);
        const Status done = work(steady_clock::now());
        return done.ok() ? grpc::Status::OK : toStatus(done.error());
    }

    grpc::Status Register(ServerContext* context, const remote::Registration* request, remote::Registered* answer) override {
        return serve(*context, *request, [&](auto now) -> Status {
            TS_TRY(checkProtocol(request->protocol()));
            TS_ASSIGN(const DeviceInfo device, tunesmith::fromWire(request->device()));
            std::optional<Lease> serving;
            if (request->has_served())
                serving = Lease{request->served().lease(), request->served().client(), request->served().priority()};
            TS_ASSIGN(const LeaseBook::Added added, book.add(device, serving, now));
            answer->set_device_secret(added.secret);
            logMessage(LogLevel::info, "device " + device.name + " at " + device.address);
            return {};
        });
    }
    grpc::Status Leave(ServerContext* context, const remote::Leaving* request, remote::Nothing*) override {
        return serve(*context, *request, [&](auto) -> Status { return book.remove(request->device_secret()), Status(); });
    }
    grpc::Status SendBeat(ServerContext* context, const remote::Beat* request, remote::BeatAnswer* answer) override {
        return serve(*context, *request, [&](auto now) -> Status {
            const LeaseBook::BeatAnswer made = book.beat(request->device_secret(), request->lease(), now);
            answer->set_known(made.known);
            answer->set_revoked(made.revoked);
            answer->set_wanted(made.wanted);
            return {};
        });
    }
    grpc::Status Confirm(ServerContext* context, const remote::Confirmation* request, remote::Confirmed* answer) override {
        return serve(*context, *request, [&](auto now) -> Status {
            const auto lease = book.confirm(request->device_secret(), request->lease(), now);
            answer->set_valid(lease.has_value());
            answer->set_client(lease ? lease->client : std::string());
            answer->set_priority(lease ? lease->priority : 0);
            return {};
        });
    }
    grpc::Status Ask(ServerContext* context, const remote::Wish* request, remote::WishAnswer* answer) override {
        return serve(*context, *request, [&](auto now) -> Status {
            TS_TRY(checkProtocol(request->protocol()));
            TS_ASSIGN(const LeaseBook::Answer made, book.ask(fromWire(*request), now));
            answer->set_devices(static_cast<std::uint32_t>(made.devices));
            answer->set_ahead(static_cast<std::uint32_t>(made.ahead));
            if (!made.lease)
                return {};
            answer->set_lease(made.lease->id);
            answer->set_device_id(made.device);
            toWire(made.info, *answer->mutable_device());
            return {};
        });
    }
    grpc::Status Withdraw(ServerContext* context, const remote::Withdrawal* request, remote::Nothing*) override {
        return serve(*context, *request, [&](auto) -> Status { return book.withdraw(request->ticket()), Status(); });
    }
    grpc::Status List(ServerContext* context, const remote::ListRequest* request, remote::DeviceList* answer) override {
        return serve(*context, *request, [&](auto now) -> Status {
            for (const LeaseBook::DeviceState& state : book.devices(now)) {
                remote::DeviceState& wire = *answer->add_devices();
                toWire(state.device, *wire.mutable_device());
                wire.set_client(state.lease ? state.lease->client : std::string());
                wire.set_priority(state.lease ? state.lease->priority : 0);
                wire.set_seconds(state.seconds);
            }
            for (const LeaseBook::Waiting& waiting : book.waiting(now)) {
                remote::WaitingClient& wire = *answer->add_waiting();
                wire.set_client(waiting.wish.client);
                wire.set_key(waiting.wish.key);
                wire.set_priority(waiting.wish.priority);
                wire.set_seconds(waiting.seconds);
            }
            return {};
        });
    }

    const Access access;
    std::mutex mutex; // guards book
    LeaseBook book;
    Listener listener;
};

Tracker::Tracker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Tracker::~Tracker() { impl_->listener.server->Shutdown(std::chrono::system_clock::now() + kClosing); }

const std::string& Tracker::address() const { return impl_->listener.address; }

Result<std::unique_ptr<Tracker>> Tracker::start(const TrackerOptions& options) {
    auto impl = std::make_unique<Impl>(options);
    TS_ASSIGN(impl->listener, listenAt(options.listen, options.access, {impl.get()}, kReadOfQuestion));
    return std::unique_ptr<Tracker>(new Tracker(std::move(impl)));
}

} // namespace tunesmith
