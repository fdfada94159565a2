// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/kernel_reply.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/measure/timing.h"
#include "core/schedule/kernel_messages.h"
#include "core/search/trial.h"

namespace tunesmith {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestObject = std::size_t(8) << 20; // bytes of a kernel; real ones have some 100 kB
constexpr std::size_t kLongestHeader = 2 * kLongestConfig;   // of a kernel, as JSON
constexpr double kRoundMs = 4, kRoundSamples = 2000, kMostSamples = 8e6; // as measure/timing takes them

Status checkKernel(const Message& request, const Message& reply) {
    const Json header = reply.body.value("kernel", Json());
    if (reply.blobs.size() != (request.body.value("text", false) ? 4U : 1U)) // its loops, LLVM IR and assembly beside it
        return inputError("it sent no kernel");
    if (reply.blobs[0].size() > kLargestObject || header.dump(-1, ' ', false, Json::error_handler_t::replace).size() > kLongestHeader)
        return inputError("it sent a kernel of more than " + std::to_string(kLargestObject >> 20) + " MiB, or one with a header of more than " + std::to_string(kLongestHeader >> 10) + " KiB");
    const auto package = KernelPackage::fromParts(header, {});
    return package.ok() ? Status() : package.error();
}

// More are not taken in twice the time that is asked for, which is the longest.
std::size_t mostSamples(const Json& request) {
    return static_cast<std::size_t>(std::min(kMostSamples, kRoundSamples * (2 + 2 * request.value("measure_ms", kMostMeasureMs) / kRoundMs)));
}

Status checkSamples(const std::vector<std::byte>& blob, std::size_t most) {
    if (blob.size() > most * sizeof(float))
        return inputError("it sent more samples than it was asked for");
    if (blob.size() % sizeof(float) != 0)
        return inputError("it sent samples that are cut off");
    for (const float sample : samplesFromBlob(blob))
        if (!(sample >= 1000 * kLeastCallSeconds && sample <= 1000 * kMostProfileSeconds))
            return inputError("it sent samples that no kernel can have taken");
    return {};
}

// Only who asked for a measurement can give it up.
bool isOutcome(const Json& status) {
    const auto known = trialStatusFromName(status.get_ref<const std::string&>());
    return known && *known != TrialStatus::cancelled && *known != TrialStatus::skipped;
}

} // namespace

Status checkKernelReply(const Message& request, const Message& reply) {
    for (const auto& [key, type] : {std::pair("status", Json::value_t::string), {"message", Json::value_t::string}, {"kernel", Json::value_t::object},
                                    {"hopeless", Json::value_t::boolean}, {"disturbed", Json::value_t::boolean}})
        if (const auto value = reply.body.find(key); value != reply.body.end() && value->type() != type)
            return inputError(std::string("it sent an answer whose ") + key + " is none");
    if (request.body.at("verb") == "build_kernel")
        return checkKernel(request, reply);
    const auto status = reply.body.find("status");
    if (status == reply.body.end() || !isOutcome(*status))
        return inputError("it sent an answer without a status");
    const auto kernels = request.body.find("kernels");
    const std::size_t asked = kernels == request.body.end() ? 1 : kernels->size();
    if (reply.blobs.size() > asked)
        return inputError("it sent times of more kernels than it was asked for");
    for (const auto& blob : reply.blobs)
        TS_TRY(checkSamples(blob, mostSamples(request.body)));
    const bool lacks = reply.blobs.size() < asked || std::ranges::any_of(reply.blobs, &std::vector<std::byte>::empty);
    return lacks && *status == kTrialOk ? Status(inputError("it sent no times of a kernel that it was asked for")) : Status();
}

} // namespace tunesmith
