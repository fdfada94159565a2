// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/requests.h"

#include <algorithm>
#include <cmath>

#include "core/measure/timing.h"
#include "core/schedule/kernel_messages.h"

namespace tunesmith {
namespace {

using Json = nlohmann::json;

constexpr double kMostMeasureMs = 60'000, kMostSeconds = 3600;
constexpr std::size_t kMostCompared = 256, kLongestConfig = 1 << 16;
constexpr std::size_t kLargestObject = std::size_t(8) << 20; // bytes of a kernel; real ones have some 100 kB
constexpr std::size_t kLongestHeader = 2 * kLongestConfig; // of a kernel, as JSON
constexpr double kRoundMs = 4, kRoundSamples = 2000, kMostSamples = 8e6; // as measure/timing takes them

const Json* at(const Json& body, const char* key) {
    const auto found = body.find(key);
    return found == body.end() ? nullptr : &*found;
}

bool isText(const Json& body, const char* key, std::size_t longest) {
    const Json* value = at(body, key);
    return value && value->is_string() && !value->get_ref<const std::string&>().empty() && value->get_ref<const std::string&>().size() <= longest;
}

Status checkNumber(const Json& body, const char* key, double most) {
    const Json* value = at(body, key);
    if (!value)
        return {};
    if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() < 0 || value->get<double>() > most)
        return inputError(std::string("a request whose ") + key + " is no number from 0 to " + std::to_string(static_cast<long>(most)));
    return {};
}

Status checkTarget(const Json& body, const DeviceInfo& device) {
    const Json* threads = at(body, "threads");
    if (!isText(body, "isa", 32) || !at(body, "cpu") || !at(body, "cpu")->is_string() || !threads || !threads->is_number_integer())
        return inputError("a request without a target");
    const auto isa = isaFromName(body["isa"].get<std::string>());
    if (!isa.ok())
        return isa.error();
    const auto own = isaFromName(device.isa);
    if (!own.ok() || !covers(*own, *isa) || threads->get<std::int64_t>() < 1 || threads->get<std::int64_t>() > device.threads)
        return inputError("a request for " + body["isa"].get<std::string>() + " with " + threads->dump() + " threads, where " + device.name + " has " + device.isa + " and " +
                          std::to_string(device.threads));
    return {};
}

Status checkMeasurement(const Message& request, bool compare) {
    for (const auto& [key, most] : {std::pair("measure_ms", kMostMeasureMs), {"max_seconds", kMostSeconds}, {"incumbent_ms", 1e12}, {"reference_ms", 1e12}})
        TS_TRY(checkNumber(request.body, key, most));
    const Json* kernels = at(request.body, compare ? "kernels" : "kernel");
    const Json* reference = compare ? nullptr : at(request.body, "reference");
    if (!kernels || (compare ? !kernels->is_array() || kernels->empty() || kernels->size() > kMostCompared : !kernels->is_object()))
        return inputError("a request to measure without a kernel");
    if (reference && (!reference->is_object() || !at(request.body, "reference_ms")))
        return inputError("a request with a reference that is none");
    const std::size_t blobs = 1 + (compare ? kernels->size() : reference ? 2 : 1);
    if (request.blobs.size() != blobs)
        return inputError("a request with " + std::to_string(request.blobs.size()) + " blobs instead of " + std::to_string(blobs));
    return {};
}

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
        if (!(sample >= 1000 * kLeastCallSeconds && sample <= 1000 * kMostSeconds))
            return inputError("it sent samples that no kernel can have taken");
    return {};
}

} // namespace

Result<KernelWork> checkKernelRequest(const Message& request, const DeviceInfo& device) {
    const Json& body = request.body;
    if (!body.is_object() || !isText(body, "verb", 64) || !isText(body, "workload", 64) || request.blobs.empty())
        return inputError("a request without a verb or a workload");
    const std::string verb = body["verb"].get<std::string>();
    const bool build = verb == "build_kernel", compare = verb == "compare_kernels";
    if (!build && !compare && verb != "profile_kernel")
        return inputError("a request for the verb '" + verb.substr(0, 40) + "', which is not served to others");
    TS_TRY(checkTarget(body, device));
    if (!build) {
        TS_TRY(checkMeasurement(request, compare));
        return KernelWork::measure;
    }
    if (!isText(body, "config", kLongestConfig) || request.blobs.size() != 1 || (at(body, "text") && !body["text"].is_boolean()))
        return inputError("a request to build without a config");
    return KernelWork::build;
}

Status checkKernelReply(const Message& request, const Message& reply) {
    for (const auto& [key, type] : {std::pair("status", Json::value_t::string), {"message", Json::value_t::string}, {"kernel", Json::value_t::object},
                                    {"hopeless", Json::value_t::boolean}, {"disturbed", Json::value_t::boolean}})
        if (const Json* value = at(reply.body, key); value && value->type() != type)
            return inputError(std::string("it sent an answer whose ") + key + " is none");
    if (request.body.at("verb") == "build_kernel")
        return checkKernel(request, reply);
    if (!at(reply.body, "status"))
        return inputError("it sent an answer without a status");
    const Json* kernels = at(request.body, "kernels");
    if (reply.blobs.size() > (kernels ? kernels->size() : 1))
        return inputError("it sent times of more kernels than it was asked for");
    for (const auto& blob : reply.blobs)
        TS_TRY(checkSamples(blob, mostSamples(request.body)));
    const bool lacks = kernels && (reply.blobs.size() < kernels->size() || std::ranges::any_of(reply.blobs, &std::vector<std::byte>::empty));
    return lacks && *at(reply.body, "status") == "ok" ? Status(inputError("it sent no times of a kernel that it was asked for")) : Status();
}

} // namespace tunesmith
