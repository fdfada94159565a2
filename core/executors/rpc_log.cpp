// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/rpc_log.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <grpc/support/log.h>
#include <mutex>
#include <string_view>

#include "core/base/log.h"
#include "core/base/printable.h"
#include "core/executors/certificate.h"

namespace tunesmith {
namespace {

constexpr int kMostLines = 50;
constexpr std::chrono::seconds kWhile{10};
constexpr std::string_view kFailed = "Handshaking failed: ", kPeer = "target_address:\"";

struct Refusals { // of the last while
    std::mutex mutex;
    std::chrono::steady_clock::time_point since = {};
    int count = 0;
};
Refusals& refusals() {
    static Refusals& state = *new Refusals; // gRPC's threads may outlive what is static
    return state;
}

struct Listening {
    std::mutex mutex;
    std::string certificate;
};
Listening& listening() {
    static Listening& state = *new Listening; // likewise
    return state;
}

std::string ownCertificate() {
    const std::lock_guard lock(listening().mutex);
    return listening().certificate;
}

bool wantsAll() { return std::getenv("GRPC_VERBOSITY") || std::getenv("GRPC_TRACE"); } // who looks for a fault of gRPC's

void take(gpr_log_func_args* line) {
    if (std::string_view(line->message).starts_with(kFailed))
        logRefusal(refusalIn(line->message, ownCertificate()));
    else if (line->severity == GPR_LOG_SEVERITY_ERROR)
        logMessage(std::string_view(line->message).find("assertion failed") != std::string_view::npos ? LogLevel::error : LogLevel::debug, printable(line->message));
}

} // namespace

void logRefusal(const std::string& text) {
    int unsaid = 0;
    {
        Refusals& last = refusals();
        const std::lock_guard lock(last.mutex);
        if (const auto now = std::chrono::steady_clock::now(); now - last.since > kWhile) {
            unsaid = std::max(0, last.count - kMostLines);
            last.since = now;
            last.count = 0;
        }
        if (++last.count > kMostLines)
            return;
    }
    if (unsaid > 0)
        logMessage(LogLevel::warning, "refused " + std::to_string(unsaid) + " more like these");
    logMessage(LogLevel::warning, text);
}

std::string refusalIn(const std::string& line, const std::string& certificate) {
    if (!line.starts_with(kFailed))
        return {};
    std::string reason = line.substr(kFailed.size(), line.find(" {") - kFailed.size());
    if (const auto colon = reason.find(':'); colon != std::string::npos && reason.find(' ') > colon)
        reason = reason.substr(colon + 1); // its status code
    const auto peer = line.find(kPeer);
    const std::string whom = peer == std::string::npos ? "a connection" : line.substr(peer + kPeer.size(), line.find('"', peer + kPeer.size()) - peer - kPeer.size());
    const auto expiry = expiryOf(certificate);
    return printable("refused " + whom + ": no TLS with it: " + (expiry ? "our certificate expired on " + *expiry : reason));
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
