// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/executors/requests.h"

#include <cmath>

#include "core/schedule/kernel_reply.h"

namespace tunesmith {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostCompared = 256;

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
    for (const auto& [key, most] : {std::pair("measure_ms", kMostMeasureMs), {"max_seconds", kMostProfileSeconds}, {"incumbent_ms", 1e12}, {"reference_ms", 1e12}})
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

} // namespace tunesmith
