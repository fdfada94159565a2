// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/rpc.h"

#include <algorithm>
#include <grpcpp/support/server_interceptor.h>

#include "core/base/log.h"
#include "core/executors/rpc_log.h"
#include "core/executors/wire.h"

namespace tunesmith {
namespace {

constexpr int kMostThreads = 256;
constexpr int kPingMs = 2000, kPongMs = 3000; // how soon a silent connection is cut, by either side
constexpr int kMostOftenPingMs = 500;
constexpr int kMostStreams = 128; // of one connection
constexpr std::size_t kLeastQuota = std::size_t(256) << 20; // bytes that gRPC may hold of all calls
constexpr const char* kTokenName = "x-tunesmith-token";

// Logs each call that ends with an error, also those that gRPC refuses before they reach us: too large, or no messages at all.
class FailureLog : public grpc::experimental::Interceptor, public grpc::experimental::ServerInterceptorFactoryInterface {
public:
    explicit FailureLog(grpc::experimental::ServerRpcInfo* info = nullptr) : info_(info) {}
    Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override { return new FailureLog(info); }

    void Intercept(grpc::experimental::InterceptorBatchMethods* batch) override {
        if (batch->QueryInterceptionHookPoint(grpc::experimental::InterceptionHookPoints::PRE_SEND_STATUS))
            if (const grpc::Status status = batch->GetSendStatus(); !status.ok())
                logMessage(LogLevel::warning, "refused " + static_cast<grpc::ServerContext*>(info_->server_context())->peer() + ": " + Error(ErrorKind::input, status.error_message()).message);
        batch->Proceed();
    }

private:
    grpc::experimental::ServerRpcInfo* info_;
};

} // namespace

std::shared_ptr<grpc::Channel> channelTo(const std::string& address, const Access& access) {
    takeGrpcLog();
    grpc::ChannelArguments arguments;
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
    return grpc::CreateCustomChannel(address, credentials, arguments);
}

void prepareCall(grpc::ClientContext& context, const Access& access, std::optional<std::chrono::milliseconds> patience) {
    if (patience)
        context.set_deadline(std::chrono::system_clock::now() + *patience);
    if (!access.token.empty())
        context.AddMetadata(kTokenName, access.token);
}

Result<Listener> listenAt(const std::string& address, const Access& access, const std::vector<grpc::Service*>& services, std::size_t largest) {
    TS_TRY(checkListening(access, address));
    auto credentials = grpc::InsecureServerCredentials();
    if (!access.certificate.empty()) {
        grpc::SslServerCredentialsOptions options;
        options.pem_key_cert_pairs.push_back({access.key, access.certificate});
        credentials = grpc::SslServerCredentials(options);
        logRefusalsOf(access.certificate);
    }
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, credentials, &port);
    for (grpc::Service* service : services)
        builder.RegisterService(service);
    builder.SetMaxReceiveMessageSize(static_cast<int>(largest + largest / 4));
    builder.SetMaxSendMessageSize(static_cast<int>(kLargestMessage));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPongMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMostOftenPingMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
    builder.SetResourceQuota(grpc::ResourceQuota().SetMaxThreads(kMostThreads).Resize(std::max(kLeastQuota, 4 * largest)));
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
    interceptors.push_back(std::make_unique<FailureLog>());
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
    Listener listener{builder.BuildAndStart(), {}};
    if (!listener.server || port == 0)
        return ioError("cannot listen at " + address + ": it is taken, not an address of this machine, or the certificate and its key do not fit");
    listener.address = address.substr(0, address.rfind(':')) + ":" + std::to_string(port);
    return listener;
}

grpc::Status checkCaller(const grpc::ServerContext& context, const Access& access) {
    if (access.token.empty())
        return grpc::Status::OK;
    const auto [begin, end] = context.client_metadata().equal_range(kTokenName);
    const bool right = begin != end && std::next(begin) == end && sameSecret(std::string(begin->second.data(), begin->second.size()), access.token);
    return right ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, begin == end ? "no token" : "a wrong token");
}

grpc::Status checkSize(std::size_t bytes, std::size_t most) {
    if (bytes <= most)
        return grpc::Status::OK;
    return {grpc::StatusCode::INVALID_ARGUMENT, "a message of " + std::to_string(bytes >> 20) + " MiB, more than " + std::to_string(most >> 20)};
}

grpc::Status toStatus(const Error& error) {
    using grpc::StatusCode;
    return {error.kind == ErrorKind::input ? StatusCode::INVALID_ARGUMENT : error.kind == ErrorKind::unsupported ? StatusCode::FAILED_PRECONDITION : StatusCode::UNAVAILABLE, error.message};
}

Error toError(const grpc::Status& status, const std::string& whom) {
    using grpc::StatusCode;
    const std::string text = status.error_message().substr(0, 500);
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
