// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/guarded_service.h"

#include <algorithm>
#include <grpcpp/alarm.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/method_handler.h>
#include <mutex>

#include "core/base/printable.h"
#include "core/executors/rpc_log.h"
#include "core/executors/wire.h"

namespace tunesmith {
namespace {

using grpc::ByteBuffer;
using grpc::StatusCode;

constexpr std::size_t kMostWaiting = 128; // half of gRPC's threads
constexpr std::chrono::milliseconds kTaking{5000}; // an answer, beside the time that its bytes need

} // namespace

// A call that waits for its caller to send or to take a message, and ends when time is up.
class GuardedService::Waiting {
public:
    Waiting(grpc::ServerContext& context, std::chrono::milliseconds patience) : running_(std::make_shared<Running>()) {
        running_->context = &context;
        alarm_.Set(std::chrono::system_clock::now() + patience, [running = running_](bool isUp) {
            if (isUp)
                running->end();
        });
    }
    ~Waiting() {
        const std::lock_guard lock(running_->mutex);
        running_->context = nullptr;
    }
    bool end() { return running_->end(); } // whether it was still waiting
    bool isEnded() const {
        const std::lock_guard lock(running_->mutex);
        return !running_->context;
    }

private:
    struct Running { // what a late alarm finds
        std::mutex mutex;
        grpc::ServerContext* context;

        bool end() {
            const std::lock_guard lock(mutex);
            if (!context)
                return false;
            context->TryCancel();
            context = nullptr;
            return true;
        }
    };
    const std::shared_ptr<Running> running_;
    grpc::Alarm alarm_;
};

GuardedService::GuardedService(const Access& access) : access_(access) {}
GuardedService::~GuardedService() = default;

void GuardedService::add(const char* method, Handler handler) {
    using Method = grpc::internal::RpcServiceMethod;
    const auto guarded = [this, handler = std::move(handler)](GuardedService*, grpc::ServerContext* context, Stream* stream) {
        const std::string peer = context->peer(); // a call that gRPC ends forgets it
        grpc::Status status = checkCaller(*context, access_);
        if (status.ok()) {
            door_->letIn(peer);
            status = handler(*context, *stream);
        } else {
            door_->refuse(peer);
        }
        if (!status.ok() && status.error_code() != StatusCode::CANCELLED) // who has gone is not refused
            logRefusal("refused " + peer + ": " + printable(shortened(status.error_message())));
        return status;
    };
    AddMethod(new Method(method, Method::BIDI_STREAMING, new grpc::internal::BidiStreamingHandler<GuardedService, ByteBuffer, ByteBuffer>(guarded, this)));
}

GuardedService::Step GuardedService::await(grpc::ServerContext& context, std::chrono::milliseconds patience, const std::function<bool()>& step) {
    std::list<Waiting>::iterator own;
    {
        const std::lock_guard lock(mutex_);
        if (waiting_.size() >= kMostWaiting)
            static_cast<void>(std::ranges::find_if(waiting_, &Waiting::end));
        own = waiting_.emplace(waiting_.end(), context, patience);
    }
    const bool done = step();
    const std::lock_guard lock(mutex_);
    const Step made = done ? Step::done : own->isEnded() ? Step::late : Step::gone;
    waiting_.erase(own);
    return made;
}

grpc::Status GuardedService::receive(grpc::ServerContext& context, Stream& stream, WireLimits limits, std::chrono::milliseconds patience, google::protobuf::MessageLite& message, const Admit& admit) {
    const std::string peer = context.peer();
    ByteBuffer bytes;
    const Step came = await(context, patience, [&] { return stream.Read(&bytes); });
    if (came == Step::done)
        door_->received(peer);
    if (const grpc::Status admitted = came == Step::done && admit ? admit(bytes.Length()) : grpc::Status::OK; !admitted.ok())
        return admitted;
    const grpc::Status done = came == Step::done
                                  ? parseMessage(bytes, limits, message)
                                  : grpc::Status(StatusCode::INVALID_ARGUMENT, "a call without a message, or one that is too large or does not come to its end");
    if (done.ok())
        door_->forgive(peer);
    else if (came != Step::gone) // a caller may give its call up
        door_->refuse(peer);
    return done;
}

grpc::Status GuardedService::send(grpc::ServerContext& context, Stream& stream, const google::protobuf::MessageLite& message) {
    const std::string peer = context.peer();
    ByteBuffer bytes;
    bool own = false;
    if (grpc::Status made = grpc::SerializationTraits<google::protobuf::MessageLite>::Serialize(message, &bytes, &own); !made.ok())
        return made;
    const Step taken = await(context, kTaking + longestWay(bytes.Length()), [&] { return stream.Write(bytes); }); // gRPC waits for the last one where nobody can end it
    if (taken == Step::done)
        return grpc::Status::OK;
    if (taken == Step::gone)
        return {StatusCode::CANCELLED, "the caller has gone"};
    door_->refuse(peer);
    return {StatusCode::DEADLINE_EXCEEDED, "a call that does not take its answer"};
}

} // namespace tunesmith
