// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/sync_stream.h>
#include <list>
#include <mutex>

#include "core/executors/access.h"
#include "core/executors/rpc.h"

namespace tunesmith {

// Inside core/executors only: calls whose caller is looked at before gRPC reads a byte of their message. The services that protoc makes get a call only
// with its message, which is in memory then, parsed, whoever has sent it. Calls that end with an error are logged with their peer.
class GuardedService : public grpc::Service {
public:
    void guard(Door& door) { door_ = &door; } // before the first call; it is told whose calls are let in

protected:
    using Stream = grpc::ServerReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
    using Handler = std::function<grpc::Status(grpc::ServerContext& context, Stream& stream)>;
    explicit GuardedService(const Access& access);
    ~GuardedService() override;
    // `method` is like /tunesmith.remote.Tracker/Ask. The handler runs for callers who have the token; it blocks a thread.
    void add(const char* method, Handler handler);
    // The only message of a call. A caller who does not send it within `patience` has its call ended; where many do not, the first of them sooner.
    // `admit` is asked before the message is parsed, and may wait: until then the bytes count as what gRPC holds.
    using Admit = std::function<grpc::Status(std::size_t bytes)>;
    grpc::Status receive(grpc::ServerContext& context, Stream& stream, WireLimits limits, std::chrono::milliseconds patience, google::protobuf::MessageLite& message, const Admit& admit = {});
    // A caller who does not take an answer in the time that a slow link needs has its call ended, like one who does not send its message.
    grpc::Status send(grpc::ServerContext& context, Stream& stream, const google::protobuf::MessageLite& message);

private:
    class Waiting;
    enum class Step { done, gone, late };
    // `step` blocks until the caller has done its part.
    Step await(grpc::ServerContext& context, std::chrono::milliseconds patience, const std::function<bool()>& step);

    const Access access_;
    Door* door_ = nullptr;
    std::mutex mutex_; // guards what follows
    std::list<Waiting> waiting_; // for their callers, the longest first
};

} // namespace tunesmith
