// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/mock_executor.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/base/hash.h"
#include "core/schedule/kernel_messages.h"

namespace tunesmith {
namespace {

using std::chrono::steady_clock;

constexpr int kSamples = 10;

CallReport answer(Message reply) {
    CallReport report;
    report.outcome = CallOutcome::replied;
    report.reply = std::move(reply);
    return report;
}

CallReport failure(CallOutcome outcome, Error error) {
    CallReport report;
    report.outcome = outcome;
    report.error = std::move(error);
    return report;
}

// Nothing when all of it passed.
std::optional<CallReport> pass(double ms, double limitSeconds, const StopToken& stop) {
    const bool tooLong = ms > 1000 * limitSeconds;
    const auto until = steady_clock::now() + std::chrono::ceil<steady_clock::duration>(std::chrono::duration<double, std::milli>(std::min(ms, 1000 * limitSeconds)));
    while (steady_clock::now() < until) {
        if (stop.stopRequested())
            return failure(CallOutcome::cancelled, cancelledError());
        std::this_thread::sleep_until(std::min(until, steady_clock::now() + kWaitTick));
    }
    return tooLong ? std::optional(failure(CallOutcome::timedOut, timeoutError("the mock was slower than its limit"))) : std::nullopt;
}

std::string configOf(const nlohmann::json& kernel) {
    const auto config = kernel.is_object() ? kernel.find("config") : kernel.end();
    return config != kernel.end() && config->is_string() ? config->get<std::string>() : std::string();
}

std::vector<float> samplesOf(const std::string& config) {
    const std::uint64_t hash = Hasher().add(std::string_view(config)).value();
    const auto ms = static_cast<float>(0.1 + static_cast<double>(hash % 1000) / 1000);
    return std::vector<float>(kSamples, ms);
}

} // namespace

CallReport MockExecutor::build(const Message& request, const StopToken& stop) {
    if (auto ended = pass(mock_.buildMs, options_.buildSeconds, stop))
        return std::move(*ended);
    KernelPackage package;
    package.config = request.body.at("config").get<std::string>();
    package.kernel.name = "mock";
    const std::uint64_t hash = Hasher().add(std::string_view(package.config)).value();
    for (std::size_t i = 0; i < mock_.kernelBytes; ++i)
        package.kernel.object.push_back(static_cast<std::byte>(hash >> (i % 8 * 8)));
    package.hash = package.computeHash();
    return answer({{{"kernel", package.header()}}, {std::move(package.kernel.object)}});
}

CallReport MockExecutor::measure(Message request, double seconds, const StopToken& stop) {
    if (auto ended = pass(mock_.profileMs, seconds, stop))
        return std::move(*ended);
    Message reply{{{"status", "ok"}, {"hopeless", false}}, {}};
    nlohmann::json kernels = request.body.contains("kernels") ? std::move(request.body["kernels"]) : nlohmann::json::array({std::move(request.body.at("kernel"))});
    for (const nlohmann::json& kernel : kernels)
        reply.blobs.push_back(samplesToBlob(samplesOf(configOf(kernel))));
    return answer(std::move(reply));
}

} // namespace tunesmith
