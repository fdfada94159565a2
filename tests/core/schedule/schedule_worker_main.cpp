// SPDX-License-Identifier: GPL-3.0-or-later
// A worker for the tests of tuning. The environment variable TEST_INJECT names faults by the config they befall:
// {"crash": "0,1", "hang": "0,2", "short": "0,3", "no-status": ..., "no-times": ..., "no-reason": ..., "build-hang": ..., "build-crash": ..., "build-error": ...}.
// With TEST_FAKE_PROFILE kernels are neither linked nor run: the time is a function of the code. With TEST_NO_TIMES comparisons have none.
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/hash.h"
#include "core/schedule/kernel_messages.h"
#include "core/schedule/worker_verbs.h"

using namespace tunesmith;

namespace {

bool injected(const char* fault, const std::string& config) {
    static const char* text = std::getenv("TEST_INJECT");
    static const auto faults = text ? nlohmann::json::parse(text) : nlohmann::json::object();
    return faults.value(fault, std::string("none")) == config;
}

void hang() {
    for (;;)
        std::this_thread::sleep_for(std::chrono::seconds(1));
}

Result<Message> build(const Handler& real, const Message& request) {
    const std::string config = request.body.value("config", std::string());
    if (injected("build-hang", config))
        hang();
    if (injected("build-crash", config))
        std::abort();
    if (injected("build-error", config))
        return unsupportedError("this config cannot be lowered");
    TS_ASSIGN(Message reply, real(request));
    nlohmann::json& extents = reply.body["kernel"]["extents"];
    const std::int64_t extent = extents.back().get<std::int64_t>();
    if (injected("short", config)) // the last iteration is left out
        extents.back() = extent - 1;
    return reply;
}

Result<Message> fakeProfile(const Message& request) {
    const std::string code = request.body.at("kernel").at("hash");
    if (const char* pause = std::getenv("TEST_PROFILE_MS"))
        std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(pause)));
    const double ms = 1.0 + static_cast<double>(Hasher().add(std::string_view(code)).value() % 1000) / 1000.0;
    return Message{{{"status", "ok"}, {"low_ms", ms}}, {samplesToBlob(std::vector<float>(5, static_cast<float>(ms)))}};
}

Result<Message> profile(const Handler& real, const Message& request) {
    const std::string config = request.body.at("kernel").at("config");
    if (injected("crash", config))
        std::abort();
    if (injected("hang", config))
        hang();
    if (injected("no-status", config)) // a wild kernel may write any answer
        return Message{{{"status", 1}}, {}};
    if (injected("no-reason", config))
        return Message{{{"status", "run_error"}, {"message", nlohmann::json::array()}}, {}};
    if (injected("no-times", config))
        return Message{{{"status", "ok"}}, {samplesToBlob({1, std::numeric_limits<float>::quiet_NaN()})}};
    return std::getenv("TEST_FAKE_PROFILE") ? fakeProfile(request) : real(request);
}

Result<Message> fakeComparison(const Message& request) {
    Message reply{{{"status", "ok"}}, {}};
    for (const auto& kernel : request.body.at("kernels")) {
        Message one;
        one.body["kernel"] = kernel;
        TS_ASSIGN(Message times, fakeProfile(one));
        reply.blobs.push_back(samplesToBlob(std::vector<float>(std::getenv("TEST_NO_TIMES") ? 0 : 30, samplesFromBlob(times.blobs[0])[0])));
    }
    return reply;
}

} // namespace

int main() {
    auto verbs = kernelVerbs();
    const Handler realBuild = verbs.at("build_kernel"), realProfile = verbs.at("profile_kernel");
    verbs["build_kernel"] = [realBuild](const Message& request) { return build(realBuild, request); };
    verbs["profile_kernel"] = [realProfile](const Message& request) { return profile(realProfile, request); };
    if (std::getenv("TEST_FAKE_PROFILE"))
        verbs["compare_kernels"] = fakeComparison;
    return serveWorker(verbs);
}
