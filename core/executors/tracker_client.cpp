// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/tracker_client.h"

#include <thread>

#include "core/executors/remote.grpc.pb.h"
#include "core/executors/rpc.h"
#include "core/executors/wire.h"

namespace tunesmith {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr std::chrono::milliseconds kLeaving{500}; // of who goes: the tracker forgets it by itself, only later

const AnswerLimits& answers() {
    static const AnswerLimits limits{"tunesmith.remote.Tracker", {{"List", kLargestList}, {"", kLargestQuestion}}, 4 * kLargestList};
    return limits;
}

Result<TrackerClient::List> listFrom(const remote::DeviceList& answer) {
    TrackerClient::List list;
    for (const remote::DeviceState& state : answer.devices()) {
        TS_ASSIGN(DeviceInfo info, tunesmith::fromWire(state.device()));
        if (!state.client().empty())
            TS_TRY(checkName(state.client(), "the name of a client"));
        list.devices.push_back({std::move(info), state.client(), state.priority(), state.seconds(), state.deaf()});
    }
    for (const remote::WaitingClient& waiting : answer.waiting()) {
        TS_TRY(checkName(waiting.client(), "the name of a client"));
        TS_TRY(checkName(waiting.key(), "the key of a device"));
        list.waiting.push_back({waiting.client(), waiting.key(), waiting.priority(), waiting.seconds()});
    }
    return list;
}

} // namespace

struct TrackerClient::Impl {
    template <class Request, class Answer> using Method = std::unique_ptr<grpc::ClientAsyncResponseReader<Answer>> (remote::Tracker::Stub::*)(grpc::ClientContext*, const Request&, grpc::CompletionQueue*);

    template <class Request, class Answer> Result<Answer> call(Method<Request, Answer> method, const Request& request, const StopToken& unwanted, std::chrono::milliseconds patience = kTrackerPatience) {
        const auto end = std::chrono::steady_clock::now() + patience;
        for (;;) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
            grpc::ClientContext context;
            prepareCall(context, access, left);
            Answer answer;
            grpc::CompletionQueue queue;
            grpc::Status status;
            (stub.get()->*method)(&context, request, &queue)->Finish(&answer, &status, nullptr);
            awaitFinish(queue, context, [&] { return unwanted.stopRequested(); });
            if (status.ok())
                return answer;
            if (unwanted.stopRequested())
                return cancelledError();
            if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED || left < 2 * kPause)
                return toError(status, "the tracker " + address);
            std::this_thread::sleep_for(kPause); // a tracker without a free thread has not begun the call
        }
    }

    // The client passes the answer on, in the metadata of calls, in messages and in logs.
    Result<std::string> checked(const std::string& name, const std::string& what) const {
        if (const Status good = checkName(name, what); !good.ok())
            return garbage(good.error());
        return name;
    }
    Error garbage(const Error& why) const { return inputError("the tracker " + address + " answers garbage: " + why.message); }

    std::string address;
    Access access;
    StopToken stop;
    std::unique_ptr<remote::Tracker::Stub> stub;
};

TrackerClient::TrackerClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrackerClient::~TrackerClient() = default;

Result<std::unique_ptr<TrackerClient>> TrackerClient::make(const std::string& address, const Access& access, StopToken stop) {
    TS_TRY(checkCalling(access, address));
    return std::unique_ptr<TrackerClient>(new TrackerClient(std::make_unique<Impl>(Impl{address, access, std::move(stop), remote::Tracker::NewStub(channelTo(address, access, answers()))})));
}

Result<std::string> TrackerClient::add(const DeviceInfo& device, const std::optional<Lease>& serving) {
    remote::Registration request;
    request.set_protocol(kRemoteProtocol);
    toWire(device, *request.mutable_device());
    if (serving) {
        request.mutable_served()->set_lease(serving->id);
        request.mutable_served()->set_client(serving->client);
        request.mutable_served()->set_priority(serving->priority);
    }
    TS_ASSIGN(const remote::Registered answer, impl_->call(&remote::Tracker::Stub::AsyncRegister, request, impl_->stop));
    return impl_->checked(answer.device_secret(), "the secret of a device");
}

Status TrackerClient::leave(const std::string& secret) {
    remote::Leaving request;
    request.set_device_secret(secret);
    const auto answer = impl_->call(&remote::Tracker::Stub::AsyncLeave, request, {}, kLeaving);
    return answer.ok() ? Status() : answer.error();
}

Result<LeaseBook::BeatAnswer> TrackerClient::beat(const std::string& secret, const std::string& lease) {
    remote::Beat request;
    request.set_device_secret(secret);
    request.set_lease(lease);
    TS_ASSIGN(const remote::BeatAnswer answer, impl_->call(&remote::Tracker::Stub::AsyncSendBeat, request, impl_->stop));
    return LeaseBook::BeatAnswer{answer.known(), answer.revoked(), answer.wanted()};
}

Result<std::optional<Lease>> TrackerClient::confirm(const std::string& secret, const std::string& lease) {
    remote::Confirmation request;
    request.set_device_secret(secret);
    request.set_lease(lease);
    TS_ASSIGN(const remote::Confirmed answer, impl_->call(&remote::Tracker::Stub::AsyncConfirm, request, impl_->stop));
    if (!answer.valid())
        return std::optional<Lease>();
    TS_ASSIGN(const std::string client, impl_->checked(answer.client(), "the name of a client"));
    return std::optional(Lease{lease, client, answer.priority()});
}

Result<LeaseBook::Answer> TrackerClient::ask(const LeaseWish& wish, const StopToken& stop) {
    remote::Wish request;
    request.set_protocol(kRemoteProtocol);
    request.set_ticket(wish.ticket);
    request.set_client(wish.client);
    request.set_key(wish.key);
    request.set_machine(wish.machine);
    request.set_priority(wish.priority);
    for (const std::string& device : wish.avoid)
        request.add_avoid(device);
    TS_ASSIGN(const remote::WishAnswer answer, impl_->call(&remote::Tracker::Stub::AsyncAsk, request, impl_->stop | stop));
    LeaseBook::Answer made;
    made.devices = answer.devices();
    made.ahead = answer.ahead();
    if (answer.lease().empty())
        return made;
    TS_ASSIGN(const std::string lease, impl_->checked(answer.lease(), "a lease"));
    made.lease = Lease{lease, wish.client, wish.priority};
    TS_ASSIGN(made.device, impl_->checked(answer.device_id(), "the id of a device"));
    auto info = tunesmith::fromWire(answer.device());
    if (!info.ok())
        return impl_->garbage(info.error());
    made.info = std::move(*info);
    return made;
}

void TrackerClient::withdraw(const std::string& ticket) {
    remote::Withdrawal request;
    request.set_ticket(ticket);
    static_cast<void>(impl_->call(&remote::Tracker::Stub::AsyncWithdraw, request, {}, kLeaving).ok());
}

Result<TrackerClient::List> TrackerClient::list() {
    TS_ASSIGN(const remote::DeviceList answer, impl_->call(&remote::Tracker::Stub::AsyncList, remote::ListRequest(), impl_->stop));
    auto list = listFrom(answer);
    return list.ok() ? std::move(list) : impl_->garbage(list.error());
}

} // namespace tunesmith
