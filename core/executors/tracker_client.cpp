// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/tracker_client.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <thread>

#include "core/executors/remote.pb.h"
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

Status add(const remote::DeviceState& state, TrackerClient::List& list) {
    TS_ASSIGN(DeviceInfo info, tunesmith::fromWire(state.device()));
    if (!state.client().empty())
        TS_TRY(checkName(state.client(), "the name of a client"));
    list.devices.push_back({std::move(info), state.client(), state.priority(), state.seconds(), state.deaf()});
    return {};
}

Status add(const remote::WaitingClient& waiting, TrackerClient::List& list) {
    TS_TRY(checkName(waiting.client(), "the name of a client"));
    TS_TRY(checkName(waiting.key(), "the key of a device"));
    list.waiting.push_back({waiting.client(), waiting.key(), waiting.priority(), waiting.seconds()});
    return {};
}

template <class Entry> Status addParsed(const std::string& bytes, TrackerClient::List& list) {
    Entry entry;
    return entry.ParseFromString(bytes) ? add(entry, list) : Status(inputError("bytes that are no list of devices"));
}

// Entry by entry: of bytes that are made for it, protobuf would make a hundred times as many at once.
Result<TrackerClient::List> listFrom(grpc::ByteBuffer& bytes) {
    using google::protobuf::internal::WireFormatLite;
    constexpr auto kText = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    constexpr std::uint32_t kDevice = WireFormatLite::MakeTag(remote::DeviceList::kDevicesFieldNumber, kText), kWaiting = WireFormatLite::MakeTag(remote::DeviceList::kWaitingFieldNumber, kText);
    grpc::ProtoBufferReader reader(&bytes);
    google::protobuf::io::CodedInputStream input(&reader);
    TrackerClient::List list;
    std::string entry;
    while (const std::uint32_t tag = input.ReadTag()) {
        if ((tag != kDevice && tag != kWaiting) || !WireFormatLite::ReadBytes(&input, &entry))
            return inputError("bytes that are no list of devices");
        if (entry.size() > kLargestEntry || list.devices.size() + list.waiting.size() >= kMostDevices + kMostWaiters)
            return inputError("a list of more than " + std::to_string(kMostDevices + kMostWaiters) + " entries, or an entry of more than " + std::to_string(kLargestEntry >> 10) + " KiB");
        TS_TRY(tag == kDevice ? addParsed<remote::DeviceState>(entry, list) : addParsed<remote::WaitingClient>(entry, list));
    }
    if (!input.ConsumedEntireMessage())
        return inputError("bytes that are no list of devices");
    return list;
}

} // namespace

struct TrackerClient::Impl {
    // Answers are looked at before they are parsed: gRPC would make an empty one of what is no message.
    Result<grpc::ByteBuffer> exchange(const char* method, const google::protobuf::MessageLite& request, const StopToken& unwanted, std::chrono::milliseconds patience = kTrackerPatience) {
        const auto end = std::chrono::steady_clock::now() + patience;
        for (;;) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
            grpc::ClientContext context;
            prepareCall(context, access, left);
            grpc::ByteBuffer question, answer;
            bool own = false;
            grpc::CompletionQueue queue;
            grpc::Status status = grpc::SerializationTraits<google::protobuf::MessageLite>::Serialize(request, &question, &own);
            if (!status.ok())
                return internalError(status.error_message());
            const auto rpc = stub.PrepareUnaryCall(&context, std::string("/tunesmith.remote.Tracker/") + method, question, &queue);
            rpc->StartCall();
            rpc->Finish(&answer, &status, nullptr);
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

    template <class Answer> Result<Answer> call(const char* method, const google::protobuf::MessageLite& request, const StopToken& unwanted, std::chrono::milliseconds patience = kTrackerPatience) {
        TS_ASSIGN(grpc::ByteBuffer bytes, exchange(method, request, unwanted, patience));
        Answer answer;
        if (const grpc::Status read = parseMessage(bytes, {kLargestQuestion}, answer); !read.ok())
            return garbage(inputError(read.error_message()));
        return answer;
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
    grpc::GenericStub stub;
};

TrackerClient::TrackerClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TrackerClient::~TrackerClient() = default;

Result<std::unique_ptr<TrackerClient>> TrackerClient::make(const std::string& address, const Access& access, StopToken stop) {
    TS_TRY(checkCalling(access, address));
    return std::unique_ptr<TrackerClient>(new TrackerClient(std::make_unique<Impl>(Impl{address, access, std::move(stop), grpc::GenericStub(channelTo(address, access, answers()))})));
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
    TS_ASSIGN(const remote::Registered answer, impl_->call<remote::Registered>("Register", request, impl_->stop));
    return impl_->checked(answer.device_secret(), "the secret of a device");
}

Status TrackerClient::leave(const std::string& secret) {
    remote::Leaving request;
    request.set_device_secret(secret);
    const auto answer = impl_->call<remote::Nothing>("Leave", request, {}, kLeaving);
    return answer.ok() ? Status() : answer.error();
}

Result<LeaseBook::BeatAnswer> TrackerClient::beat(const std::string& secret, const std::string& lease) {
    remote::Beat request;
    request.set_device_secret(secret);
    request.set_lease(lease);
    TS_ASSIGN(const remote::BeatAnswer answer, impl_->call<remote::BeatAnswer>("SendBeat", request, impl_->stop));
    return LeaseBook::BeatAnswer{answer.known(), answer.revoked(), answer.wanted()};
}

Result<std::optional<Lease>> TrackerClient::confirm(const std::string& secret, const std::string& lease) {
    remote::Confirmation request;
    request.set_device_secret(secret);
    request.set_lease(lease);
    TS_ASSIGN(const remote::Confirmed answer, impl_->call<remote::Confirmed>("Confirm", request, impl_->stop));
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
    TS_ASSIGN(const remote::WishAnswer answer, impl_->call<remote::WishAnswer>("Ask", request, impl_->stop | stop));
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
    static_cast<void>(impl_->call<remote::Nothing>("Withdraw", request, {}, kLeaving).ok());
}

Result<TrackerClient::List> TrackerClient::list() {
    TS_ASSIGN(grpc::ByteBuffer answer, impl_->exchange("List", remote::ListRequest(), impl_->stop));
    auto list = listFrom(answer);
    return list.ok() ? std::move(list) : impl_->garbage(list.error());
}

} // namespace tunesmith
