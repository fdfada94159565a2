// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/rpc.h"

#include <algorithm>
#include <cassert>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <nlohmann/json.hpp>

#include "core/base/printable.h"
#include "core/executors/guarded_service.h"
#include "core/executors/rpc_log.h"
#include "core/executors/wire.h"
#include "core/process/message.h"

namespace tunesmith {
namespace {

constexpr int kMostThreads = 256;
constexpr int kPingMs = 2000, kPongMs = 3000; // how soon a silent connection is cut, by either side
constexpr int kMostOftenPingMs = 500;
constexpr int kHandshakeMs = 8000; // TLS, then HTTP/2's settings
constexpr int kIdleMs = 60'000;    // a connection without calls; its client comes again
constexpr int kMostMetadata = 16 << 10;
constexpr std::size_t kLeastQuota = std::size_t(256) << 20; // bytes that gRPC may hold of all calls
constexpr std::size_t kMostCallers = 64; // that are in the midst of messages of the largest size
constexpr std::chrono::milliseconds kClosing{200};
constexpr const char *kTokenName = "x-tunesmith-token", *kLeaseName = "x-tunesmith-lease";

// Messages are read as they come. gRPC would unpack a small one to any size, whatever its limits are: they look at what came. A packed message is then
// no message. (gRPC can also be told to refuse packings by name, but forgets at once who has sent what it refuses.)
template <class SetInt> void leavePacked(const SetInt& setInt) {
    setInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    setInt(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
}

// gRPC's own way to say what each method may answer.
std::string serviceConfig(const AnswerLimits& limits) {
    nlohmann::json methods = nlohmann::json::array();
    for (const auto& [method, bytes] : limits.methods) {
        nlohmann::json name = {{"service", limits.service}};
        if (!method.empty())
            name["method"] = method;
        methods.push_back({{"name", {name}}, {"maxResponseMessageBytes", bytes}});
    }
    return nlohmann::json{{"methodConfig", methods}}.dump();
}

std::string metadataOf(const grpc::ServerContext& context, const char* name) {
    const auto [begin, end] = context.client_metadata().equal_range(name);
    return begin != end && std::next(begin) == end ? std::string(begin->second.data(), begin->second.size()) : std::string();
}

} // namespace

grpc::Status parseMessage(grpc::ByteBuffer& bytes, WireLimits limits, google::protobuf::MessageLite& message) {
    using google::protobuf::internal::WireFormatLite;
    using grpc::StatusCode;
    if (bytes.Length() > limits.bytes)
        return {StatusCode::INVALID_ARGUMENT, "a message of " + std::to_string(bytes.Length() >> 10) + " KiB, more than " + std::to_string(limits.bytes >> 10)};
    {
        grpc::ProtoBufferReader reader(&bytes);
        google::protobuf::io::CodedInputStream input(&reader);
        std::size_t fields = 0;
        while (const std::uint32_t tag = input.ReadTag())
            if (!WireFormatLite::SkipField(&input, tag))
                return {StatusCode::INVALID_ARGUMENT, "bytes that are no message, or a packed one"};
            else if (++fields > limits.fields)
                return {StatusCode::INVALID_ARGUMENT, "a message of more than " + std::to_string(limits.fields) + " parts"};
    }
    const grpc::Status parsed = grpc::SerializationTraits<google::protobuf::MessageLite>::Deserialize(&bytes, &message);
    return parsed.ok() ? parsed : grpc::Status(StatusCode::INVALID_ARGUMENT, "bytes that are no message, or a packed one");
}

std::string targetOf(const std::string& address) { return "dns:///" + address; }

std::shared_ptr<grpc::Channel> channelTo(const std::string& address, const Access& access, const AnswerLimits& limits) {
    takeGrpcLog();
    grpc::ChannelArguments arguments;
    leavePacked([&](const char* name, int value) { arguments.SetInt(name, value); });
    arguments.SetServiceConfigJSON(serviceConfig(limits));
    arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
    arguments.SetResourceQuota(grpc::ResourceQuota().Resize(limits.held));
    arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadata);
    arguments.SetMaxReceiveMessageSize(static_cast<int>(kLargestMessage));
    arguments.SetMaxSendMessageSize(static_cast<int>(kLargestMessage));
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1); // a server that comes back is not still being avoided
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kPongMs); // how long one attempt may take
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs); // or TCP's pauses hold a dead connection as long again as a cable was out
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPongMs);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0); // as many as it takes
    const auto credentials = access.ca.empty() ? grpc::InsecureChannelCredentials() : grpc::SslCredentials({access.ca, {}, {}});
    return grpc::CreateCustomChannel(targetOf(address), credentials, arguments);
}

void prepareCall(grpc::ClientContext& context, const Access& access, std::optional<std::chrono::milliseconds> patience, const std::string& lease) {
    if (patience)
        context.set_deadline(std::chrono::system_clock::now() + *patience);
    if (!access.token.empty())
        context.AddMetadata(kTokenName, access.token);
    assert(lease.empty() || checkName(lease, "a lease").ok()); // gRPC ends the process over any other
    if (!lease.empty())
        context.AddMetadata(kLeaseName, lease);
}

void drain(grpc::CompletionQueue& queue) {
    queue.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
    }
}

void awaitFinish(grpc::CompletionQueue& queue, grpc::ClientContext& context, const std::function<bool()>& isUnwanted) {
    void* tag = nullptr;
    bool ok = false;
    while (queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now() + kWaitTick) == grpc::CompletionQueue::TIMEOUT)
        if (isUnwanted())
            context.TryCancel();
    drain(queue);
}

void Listener::close() {
    if (!server_)
        return;
    door_->close();
    server_->Shutdown(std::chrono::system_clock::now() + kClosing);
    server_->Wait();
    server_.reset();
}

const std::string& Listener::address() const { return door_->address(); }

Result<Listener> listenAt(const std::string& address, const Access& access, GuardedService& service, const CallLimits& limits) {
    TS_TRY(checkListening(access, address));
    takeGrpcLog();
    Listener listener;
    const std::size_t quota = std::max(kLeastQuota, 4 * limits.largest);
    TS_ASSIGN(listener.door_, Door::open(address, std::min(quota, kMostCallers * limits.largest)));
    auto credentials = grpc::InsecureServerCredentials();
    if (!access.certificate.empty()) {
        grpc::SslServerCredentialsOptions options;
        options.pem_key_cert_pairs.push_back({access.key, access.certificate});
        credentials = grpc::SslServerCredentials(options);
        logRefusalsOf(access.certificate);
    }
    grpc::ServerBuilder builder;
    using External = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    const std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor = builder.experimental().AddExternalConnectionAcceptor(External::FROM_FD, credentials);
    service.guard(*listener.door_);
    builder.RegisterService(&service);
    leavePacked([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
    builder.SetMaxReceiveMessageSize(static_cast<int>(limits.largest + limits.largest / 4));
    builder.SetMaxSendMessageSize(static_cast<int>(kLargestMessage));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPongMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1); // or an idle client that vanishes keeps its place for a minute
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMostOftenPingMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadata);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.atOnce);
    builder.SetResourceQuota(grpc::ResourceQuota().SetMaxThreads(kMostThreads).Resize(quota));
    listener.server_ = builder.BuildAndStart();
    if (!listener.server_)
        return ioError("cannot listen at " + address + ": the certificate and its key do not fit");
    listener.door_->begin([acceptor](int at, int connection) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
        parameters.listener_fd = at;
        parameters.fd = connection;
        acceptor->HandleNewConnection(&parameters);
    });
    return listener;
}

grpc::Status checkCaller(const grpc::ServerContext& context, const Access& access) {
    if (access.token.empty())
        return grpc::Status::OK;
    const std::string token = metadataOf(context, kTokenName);
    return sameSecret(token, access.token) ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, token.empty() ? "no token" : "a wrong token");
}

std::string leaseOf(const grpc::ServerContext& context) {
    std::string lease = metadataOf(context, kLeaseName);
    return checkName(lease, "a lease").ok() ? lease : std::string();
}

grpc::Status toStatus(const Error& error) {
    using grpc::StatusCode;
    return {error.kind == ErrorKind::input ? StatusCode::INVALID_ARGUMENT : error.kind == ErrorKind::unsupported ? StatusCode::FAILED_PRECONDITION : StatusCode::UNAVAILABLE, error.message};
}

Error toError(const grpc::Status& status, const std::string& whom) {
    using grpc::StatusCode;
    const std::string text = shortened(status.error_message());
    switch (status.error_code()) {
    case StatusCode::UNAUTHENTICATED:
        return inputError(whom + " refused us: " + text + "; check --token-file");
    case StatusCode::INVALID_ARGUMENT:
    case StatusCode::PERMISSION_DENIED:
    case StatusCode::FAILED_PRECONDITION:
        return inputError(whom + " refused: " + text);
    case StatusCode::RESOURCE_EXHAUSTED: // gRPC's own, at either end
    case StatusCode::OUT_OF_RANGE:
        return ioError(whom + " has sent too much, or has too much to do: " + text);
    case StatusCode::UNIMPLEMENTED:
        return inputError(whom + " does not know this call; is it another program, or another version of Tunesmith?");
    case StatusCode::CANCELLED:
        return ioError(whom + " gave up the call");
    case StatusCode::DEADLINE_EXCEEDED:
        return ioError(whom + " did not answer in time");
    default:
        return ioError(whom + " cannot be reached: " + text);
    }
}

} // namespace tunesmith
