// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/rpc_log.h"

#include <cstdlib>
#include <grpc/support/log.h>
#include <mutex>
#include <string_view>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/executors/certificate.h"

namespace tunesmith {
namespace {

constexpr std::string_view kFailed = "Handshaking failed: ", kPeer = "target_address:\"";

struct Listening {
    std::mutex mutex;
    std::string certificate;
};
Listening& listening() {
    static Listening& state = *new Listening; // gRPC's threads may outlive what is static
    return state;
}

std::string ownCertificate() {
    const std::lock_guard lock(listening().mutex);
    return listening().certificate;
}

bool wantsAll() { return std::getenv("GRPC_VERBOSITY") || std::getenv("GRPC_TRACE"); } // who looks for a fault of gRPC's

void take(gpr_log_func_args* line) {
    if (std::string_view(line->message).starts_with(kFailed))
        logMessage(LogLevel::warning, refusalIn(line->message, ownCertificate()));
    else if (line->severity == GPR_LOG_SEVERITY_ERROR)
        logMessage(LogLevel::debug, Error(ErrorKind::io, line->message).message);
}

} // namespace

std::string refusalIn(const std::string& line, const std::string& certificate) {
    if (!line.starts_with(kFailed))
        return {};
    std::string reason = line.substr(kFailed.size(), line.find(" {") - kFailed.size());
    if (const auto colon = reason.find(':'); colon != std::string::npos && reason.find(' ') > colon)
        reason = reason.substr(colon + 1); // its status code
    const auto peer = line.find(kPeer);
    const std::string whom = peer == std::string::npos ? "a connection" : line.substr(peer + kPeer.size(), line.find('"', peer + kPeer.size()) - peer - kPeer.size());
    const auto expiry = expiryOf(certificate);
    return Error(ErrorKind::io, "refused " + whom + ": no TLS with it: " + (expiry ? "our certificate expired on " + *expiry : reason)).message;
}

void takeGrpcLog() {
    static std::once_flag once;
    if (!wantsAll())
        std::call_once(once, [] { gpr_set_log_function(take); });
}

void logRefusalsOf(const std::string& certificate) {
    {
        const std::lock_guard lock(listening().mutex);
        listening().certificate = certificate;
    }
    takeGrpcLog();
    if (!wantsAll())
        gpr_set_log_verbosity(GPR_LOG_SEVERITY_DEBUG); // gRPC tells of failed handshakes at no other level
}

} // namespace tunesmith
