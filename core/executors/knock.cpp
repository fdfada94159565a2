// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/knock.h"

#include <algorithm>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/eventfd.h>

#include "core/base/descriptor.h"
#include "core/executors/rpc.h"
#include "core/executors/rpc_log.h"

namespace tunesmith {
namespace {

constexpr std::chrono::milliseconds kTick{50};

std::shared_ptr<grpc::ChannelCredentials> anyCertificate() {
    grpc::experimental::TlsChannelCredentialsOptions options;
    options.set_verify_server_certs(false);
    options.set_check_call_host(false);
    options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
    return grpc::experimental::TlsCredentials(options);
}

bool isADescriptorLeft() { return Descriptor(::eventfd(0, EFD_CLOEXEC)).get() >= 0; }

} // namespace

std::vector<Knock> knock(const std::vector<std::string>& addresses, bool tls, std::chrono::milliseconds patience, const StopToken& stop) {
    takeGrpcLog();
    const auto until = std::chrono::system_clock::now() + patience;
    const auto credentials = tls ? anyCertificate() : grpc::InsecureChannelCredentials();
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    for (const std::string& address : addresses) {
        grpc::ChannelArguments arguments;
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1); // a connection of its own
        arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
        channels.push_back(grpc::CreateCustomChannel(targetOf(address), credentials, arguments));
        channels.back()->GetState(true); // begins to connect
    }
    std::vector<Knock> answers;
    auto otherwise = Knock::unanswered;
    for (const auto& channel : channels) {
        bool connected = false;
        do {
            otherwise = isADescriptorLeft() ? otherwise : Knock::untold;
            connected = channel->WaitForConnected(std::min(until, std::chrono::system_clock::now() + kTick));
        } while (!connected && std::chrono::system_clock::now() < until && !stop.stopRequested());
        answers.push_back(connected ? Knock::answered : otherwise);
        if (stop.stopRequested())
            break;
    }
    answers.resize(addresses.size(), Knock::untold);
    return answers;
}

} // namespace tunesmith
