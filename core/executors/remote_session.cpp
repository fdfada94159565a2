// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/remote_session.h"

#include <atomic>
#include <grpcpp/generic/generic_stub.h>
#include <map>
#include <mutex>
#include <thread>

#include "core/base/helpers.h"
#include "core/base/printable.h"
#include "core/executors/call_memory.h"
#include "core/executors/remote.grpc.pb.h"
#include "core/executors/rpc.h"
#include "core/executors/wire.h"
#include "core/schedule/kernel_reply.h"

namespace tunesmith {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr std::size_t kTimesInMemory = 3; // of an answer: as it came, parsed, and as a message

// Of all servers together: what they answer is parsed, and looked at, in turns where it is large.
CallMemory& answersInMemory() {
    static CallMemory memory(8 * kLargestAnswer);
    return memory;
}

bool isRefusal(const grpc::Status& status) {
    using grpc::StatusCode;
    return status.error_code() == StatusCode::INVALID_ARGUMENT || status.error_code() == StatusCode::FAILED_PRECONDITION;
}

const AnswerLimits& answers() {
    static const AnswerLimits limits{"tunesmith.remote.Executor", {{"Open", kLargestEvent}, {"", kLargestAnswer}}, 4 * kLargestAnswer};
    return limits;
}

} // namespace

CallReport ended(CallOutcome outcome, Error error) {
    CallReport report;
    report.outcome = outcome;
    report.error = std::move(error);
    return report;
}

struct RemoteSession::Impl {
    explicit Impl(const Setup& given)
        : setup(given), channel(channelTo(setup.grant.info.address, setup.access, answers())), stub(remote::Executor::NewStub(channel)), rawStub(channel) {}

    std::string name() const { return "the device " + setup.grant.info.name; }

    // The stream of events is the lease: it is watched until it ends.
    void watch() {
        enum Tag : std::intptr_t { started = 1, read, finished };
        const auto tagOf = [](Tag tag) { return reinterpret_cast<void*>(tag); };
        remote::SessionEvent event;
        grpc::Status status;
        grpc::CompletionQueue queue;
        prepareCall(context, setup.access, {}, setup.grant.lease->id);
        const auto stream = stub->AsyncOpen(&context, openRequest(), &queue, tagOf(started));
        auto heard = steady_clock::now();
        bool silent = false;
        for (;;) {
            void* tag = nullptr;
            bool ok = false;
            const bool waited = queue.AsyncNext(&tag, &ok, system_clock::now() + kWaitTick) != grpc::CompletionQueue::GOT_EVENT;
            silent = silent || (waited && steady_clock::now() - heard > setup.timing.lost);
            if (silent || closing)
                context.TryCancel();
            if (waited)
                continue;
            if (tag == tagOf(finished))
                break;
            if (ok && tag == tagOf(read)) {
                turnOver = event.turn_over();
                ready = true;
                findForgotten(event);
                giveBackIfIdle();
            }
            heard = steady_clock::now();
            if (ok)
                stream->Read(&event, tagOf(read));
            else
                stream->Finish(&status, tagOf(finished));
        }
        drain(queue);
        lose(silent ? ioError(name() + " has been silent for too long") : status.ok() ? ioError(name() + " has ended the lease") : toError(status, name()));
    }

    remote::OpenRequest openRequest() const {
        remote::OpenRequest request;
        request.set_protocol(kRemoteProtocol);
        request.set_client_secret(setup.clientSecret);
        request.set_builders(setup.limits.builders);
        request.set_build_seconds(setup.limits.buildSeconds);
        request.set_profile_seconds(setup.limits.profileSeconds);
        request.set_prepare_seconds(setup.limits.prepareSeconds);
        request.set_measure_ms(setup.limits.measureMs);
        request.set_seed(setup.limits.seed);
        return request;
    }

    // Whoever enters counts itself first and then looks; so either it or this sees the other.
    void giveBackIfIdle() {
        if (turnOver && entered == 0)
            closing = true;
    }

    void lose(Error error) {
        const std::lock_guard lock(mutex);
        if (!lost)
            why = std::move(error);
        lost = true;
    }
    Error reason() const {
        const std::lock_guard lock(mutex);
        return why;
    }

    // A call that the server does not name is on its way there or back, which takes so long and not longer, or will never be answered.
    struct UnderWay {
        std::size_t bytes;
        steady_clock::time_point until; // it is to be named
        int missing = 0; // events since that do not name it; a first one may have come before it, and been read late
        bool isForgotten() const { return missing > 1; }
    };
    std::uint64_t begin(std::size_t bytes) {
        const std::lock_guard lock(mutex);
        std::size_t all = bytes;
        for (const auto& [id, other] : underWay)
            all += other.bytes;
        underWay[++lastCall] = {bytes, steady_clock::now() + setup.timing.lost + longestWay(all)};
        return lastCall;
    }
    void findForgotten(const remote::SessionEvent& event) {
        const std::set<std::uint64_t> named(event.calls().begin(), event.calls().end());
        const auto now = steady_clock::now();
        const std::lock_guard lock(mutex);
        for (auto& [id, call] : underWay)
            if (named.contains(id))
                call = {call.bytes, now + setup.timing.lost};
            else if (now > call.until)
                ++call.missing;
    }
    bool isForgotten(std::uint64_t id) const {
        const std::lock_guard lock(mutex);
        return underWay.at(id).isForgotten();
    }

    grpc::Status call(remote::Request& request, std::chrono::milliseconds patience, const StopToken& stop, remote::Reply& reply, CallMemory::Share& room) {
        const std::uint64_t id = begin(request.ByteSizeLong());
        request.set_call(id);
        grpc::ClientContext callContext;
        prepareCall(callContext, setup.access, patience, setup.grant.lease->id);
        grpc::CompletionQueue queue;
        grpc::Status status;
        grpc::ByteBuffer answer;
        const auto rpc = rawStub.PrepareUnaryCall(&callContext, "/tunesmith.remote.Executor/Exchange", request, &queue);
        rpc->StartCall();
        rpc->Finish(&answer, &status, nullptr);
        awaitFinish(queue, callContext, [&] { return stop.stopRequested() || lost || isForgotten(id); });
        if (status.ok() && !(room = answersInMemory().take(kTimesInMemory * answer.Length(), patience, [&] { return stop.stopRequested() || lost; })))
            status = grpc::Status(grpc::StatusCode::CANCELLED, "nobody waits for the answer");
        if (status.ok() && !parseMessage(answer, {kLargestAnswer, kMostParts}, reply).ok())
            reply.Clear(); // which is no answer
        const std::lock_guard lock(mutex);
        return underWay.extract(id).mapped().isForgotten() && !status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "it knows nothing of a call that it was sent") : status;
    }

    const Setup setup;
    const std::shared_ptr<grpc::Channel> channel;
    const std::unique_ptr<remote::Executor::Stub> stub;
    grpc::TemplatedGenericStub<remote::Request, grpc::ByteBuffer> rawStub; // whose answers are looked at before they are parsed
    grpc::ClientContext context; // of the stream
    std::atomic<bool> ready = false, lost = false, turnOver = false, closing = false, startsNothing = false;
    std::atomic<int> entered = 0; // callers
    mutable std::mutex mutex; // guards what follows
    Error why;
    std::map<std::uint64_t, UnderWay> underWay; // by number
    std::uint64_t lastCall = 0;
    std::jthread watcher; // last: it uses the others
};

RemoteSession::RemoteSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RemoteSession::~RemoteSession() { impl_->closing = true; }

const DeviceInfo& RemoteSession::device() const { return impl_->setup.grant.info; }
const std::string& RemoteSession::deviceId() const { return impl_->setup.grant.device; }

bool RemoteSession::enter() {
    ++impl_->entered;
    if (!impl_->turnOver && !impl_->startsNothing && !impl_->lost && !impl_->closing)
        return true;
    leave();
    return false;
}

void RemoteSession::leave() {
    --impl_->entered;
    impl_->giveBackIfIdle();
}

Result<std::unique_ptr<RemoteSession>> RemoteSession::open(const Setup& setup, const StopToken& stop) {
    TS_TRY(checkCalling(setup.access, setup.grant.info.address));
    std::unique_ptr<RemoteSession> session(new RemoteSession(std::make_unique<Impl>(setup)));
    Impl& impl = *session->impl_;
    TS_ASSIGN(impl.watcher, startThread([&impl] { impl.watch(); }));
    while (!impl.ready && !impl.lost) {
        if (stop.stopRequested())
            return cancelledError();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (impl.lost)
        return impl.reason();
    return session;
}

Result<CallReport> RemoteSession::exchange(const Message& request, double seconds, std::chrono::milliseconds patience, const StopToken& stop,
                                           const std::set<std::string>& kept, std::uint64_t* moved) {
    const auto lost = [&](Error error) {
        impl_->lose(error);
        return error;
    };
    remote::Reply reply;
    CallMemory::Share room; // of it
    grpc::Status status;
    for (const bool whole : {false, true}) {
        remote::Request wire;
        wire.set_seconds(seconds);
        toWire(request, whole ? std::set<std::string>() : kept, wire);
        if (wire.ByteSizeLong() > kLargestMessage)
            return ended(CallOutcome::refused, inputError("a request of more than " + std::to_string(kLargestMessage >> 20) + " MiB, too large for a remote device"));
        reply.Clear();
        room = {};
        status = impl_->call(wire, patience, stop, reply, room);
        if (moved && status.ok())
            *moved += wire.ByteSizeLong() + reply.ByteSizeLong();
        if (!status.ok() || !reply.missing())
            break;
    }
    if (stop.stopRequested())
        return ended(CallOutcome::cancelled, cancelledError());
    if (impl_->lost)
        return impl_->reason();
    if (isRefusal(status))
        return ended(CallOutcome::refused, toError(status, impl_->name()));
    if (!status.ok())
        return lost(toError(status, impl_->name()));
    auto report = reply.missing() ? Result<CallReport>(inputError("it does not keep what it was just sent")) : fromWire(reply);
    if (report.ok() && report->replied())
        if (const Status good = checkKernelReply(request, report->reply); !good.ok())
            report = good.error();
    if (!report.ok())
        return lost(ioError(impl_->name() + " answers garbage: " + shortened(report.error().message)));
    if (report->outcome == CallOutcome::notStarted && impl_->turnOver) {
        impl_->startsNothing = true;
        return report;
    }
    if (report->outcome == CallOutcome::notStarted || report->outcome == CallOutcome::cancelled)
        return lost(ioError(impl_->name() + " cannot go on: " + report->error.message));
    return report;
}

} // namespace tunesmith
