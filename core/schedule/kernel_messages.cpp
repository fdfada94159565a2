// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/kernel_messages.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/hash.h"
#include "core/base/json_text.h"
#include "core/process/json_number.h"
#include "core/schedule/layout_json.h"

namespace tunesmith {
namespace {

nlohmann::json toJson(const std::vector<WeightTransform>& transforms) {
    nlohmann::json list = nlohmann::json::array();
    for (const WeightTransform transform : transforms)
        list.push_back(static_cast<int>(transform));
    return list;
}

std::vector<WeightTransform> transformsFromJson(const nlohmann::json& list) {
    std::vector<WeightTransform> transforms;
    for (const auto& entry : list) {
        const auto number = wholeNumber<unsigned>(entry);
        if (number > static_cast<unsigned>(WeightTransform::plainWords))
            throw std::out_of_range("an unknown weight transform");
        transforms.push_back(static_cast<WeightTransform>(number));
    }
    return transforms;
}

} // namespace

nlohmann::json KernelPackage::header() const {
    return {{"name", kernel.name},
            {"extents", kernel.phaseExtents},
            {"scratch", kernel.scratchBytes},
            {"arguments", layoutsToJson(argumentLayouts)},
            {"transforms", toJson(argumentTransforms)},
            {"outputs", layoutsToJson(outputLayouts)},
            {"config", config},
            {"hash", hexHash(hash)}};
}

Result<KernelPackage> KernelPackage::fromParts(const nlohmann::json& header, std::vector<std::byte> object) {
    KernelPackage package;
    try {
        package.kernel.name = header.at("name").get<std::string>();
        package.kernel.phaseExtents = wholeNumbers<std::int64_t>(header.at("extents"));
        package.kernel.scratchBytes = wholeNumbers<std::int64_t>(header.at("scratch"));
        package.argumentLayouts = layoutsFromJson(header.at("arguments"));
        package.argumentTransforms = transformsFromJson(header.at("transforms"));
        package.outputLayouts = layoutsFromJson(header.at("outputs"));
        package.config = header.at("config").get<std::string>();
        package.hash = std::stoull(header.at("hash").get<std::string>(), nullptr, 16);
    } catch (const std::exception&) {
        return internalError("a built kernel arrived damaged");
    }
    package.kernel.object = std::move(object);
    return package;
}

std::string KernelPackage::pack() const {
    std::string bytes = header().dump() + "\n";
    bytes.append(reinterpret_cast<const char*>(kernel.object.data()), kernel.object.size());
    return bytes;
}

Result<KernelPackage> KernelPackage::unpack(std::string_view bytes) {
    const auto newline = bytes.find('\n');
    const auto header = parseJson<nlohmann::json>(bytes.substr(0, newline));
    if (newline == std::string_view::npos || header.is_discarded())
        return internalError("a built kernel arrived damaged");
    return fromParts(header, toBlob(bytes.substr(newline + 1)));
}

std::uint64_t KernelPackage::computeHash() const {
    Hasher hasher;
    hasher.add(kernel.object.size()).bytes(kernel.object.data(), kernel.object.size());
    hasher.add(kernel.phaseExtents).add(kernel.scratchBytes);
    hasher.add(std::string_view(toJson(argumentTransforms).dump()));
    hasher.add(std::string_view(layoutsToJson(argumentLayouts).dump())).add(std::string_view(layoutsToJson(outputLayouts).dump()));
    return hasher.value();
}

Message workloadRequest(const std::string& verb, const std::string& key, const std::string& serialized,
                        const Target& target) {
    return {{{"verb", verb},
             {"workload", key},
             {"isa", isaName(target.isa)},
             {"cpu", target.tuneCpu},
             {"threads", target.threads}},
            {toBlob(serialized)}};
}

Result<Target> targetFromJson(const nlohmann::json& body) {
    Target target;
    TS_ASSIGN(target.isa, isaFromName(body.value("isa", std::string())));
    target.tuneCpu = body.value("cpu", std::string());
    target.threads = wholeNumber(body, "threads", 1);
    if (target.threads < 1 || target.threads > kMostTargetThreads)
        return inputError("a target has 1 to " + std::to_string(kMostTargetThreads) + " threads, not " + std::to_string(target.threads));
    return target;
}

std::vector<std::byte> toBlob(std::string_view text) {
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    return {bytes, bytes + text.size()};
}

std::string_view blobText(const std::vector<std::byte>& blob) {
    return {reinterpret_cast<const char*>(blob.data()), blob.size()};
}

std::vector<std::byte> samplesToBlob(const std::vector<float>& samples) {
    std::vector<std::byte> blob(samples.size() * sizeof(float));
    if (!samples.empty())
        std::memcpy(blob.data(), samples.data(), blob.size());
    return blob;
}

std::vector<float> samplesFromBlob(const std::vector<std::byte>& blob) {
    std::vector<float> samples(blob.size() / sizeof(float));
    if (!samples.empty())
        std::memcpy(samples.data(), blob.data(), samples.size() * sizeof(float));
    return samples;
}

} // namespace tunesmith
