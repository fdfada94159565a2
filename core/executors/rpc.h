// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <chrono>
#include <functional>
#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/executors/access.h"
#include "core/executors/door.h"

namespace tunesmith {

class GuardedService;

// Inside core/executors only: gRPC as this room uses it.

// Most of a message, before it is parsed: protobuf makes up to 50 bytes of each field that repeats itself, which may have two.
struct WireLimits {
    std::size_t bytes;
    std::size_t fields = 256; // at its top level
};
grpc::Status parseMessage(grpc::ByteBuffer& bytes, WireLimits limits, google::protobuf::MessageLite& message);

// Limits of an answer: bytes of one message by method, and of all that gRPC holds at once.
struct AnswerLimits {
    std::string service; // like tunesmith.remote.Tracker
    std::vector<std::pair<std::string, std::size_t>> methods; // the last one for all others
    std::size_t held;
};
std::string targetOf(const std::string& address); // for gRPC, which would take HOST:PORT for a URI where the host is called unix
std::shared_ptr<grpc::Channel> channelTo(const std::string& address, const Access& access, const AnswerLimits& limits);
// `lease`: of whom calls a device: a secret that is looked at before the message is read.
void prepareCall(grpc::ClientContext& context, const Access& access, std::optional<std::chrono::milliseconds> patience = {}, const std::string& lease = {});

// Until the one operation of a queue that was given to it is done; its call is cancelled as soon as it is not wanted any more.
void awaitFinish(grpc::CompletionQueue& queue, grpc::ClientContext& context, const std::function<bool()>& isUnwanted);
void drain(grpc::CompletionQueue& queue); // and shuts it down

// Limits of the calls to a service.
struct CallLimits {
    std::size_t largest; // bytes of a message; gRPC reads a quarter more, so that a refusal can say why
    int atOnce;          // of one connection; others wait at their callers
};
class Listener {
public:
    Listener() = default;
    Listener(Listener&&) = default;
    Listener& operator=(Listener&&) = default;
    ~Listener() { close(); }
    void close(); // ends all calls, before what they use goes
    const std::string& address() const; // with the port that was chosen

private:
    friend Result<Listener> listenAt(const std::string&, const Access&, GuardedService&, const CallLimits&);
    std::unique_ptr<Door> door_;
    std::unique_ptr<grpc::Server> server_;
};
Result<Listener> listenAt(const std::string& address, const Access& access, GuardedService& service, const CallLimits& limits);

grpc::Status checkCaller(const grpc::ServerContext& context, const Access& access); // refuses who has not the token
std::string leaseOf(const grpc::ServerContext& context); // empty: none, or one that no tracker gives
grpc::Status toStatus(const Error& error);

// kind input: whom we called will never take this call; io: perhaps later.
Error toError(const grpc::Status& status, const std::string& whom);

} // namespace tunesmith
