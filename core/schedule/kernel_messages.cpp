// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/kernel_messages.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/base/hash.h"

namespace tunesmith {
namespace {

nlohmann::json toJson(const std::vector<loops::Layout>& layouts) {
    nlohmann::json list = nlohmann::json::array();
    for (const loops::Layout& layout : layouts) {
        nlohmann::json axes = nlohmann::json::array();
        for (const auto& axis : layout.axes())
            axes.push_back({axis.dim, axis.divisor, axis.extent});
        list.push_back(std::move(axes));
    }
    return list;
}

nlohmann::json toJson(const std::vector<WeightTransform>& transforms) {
    nlohmann::json list = nlohmann::json::array();
    for (const WeightTransform transform : transforms)
        list.push_back(static_cast<int>(transform));
    return list;
}

std::vector<WeightTransform> transformsFromJson(const nlohmann::json& list) {
    std::vector<WeightTransform> transforms;
    for (const auto& entry : list) {
        const auto number = entry.get<unsigned>();
        if (number > static_cast<unsigned>(WeightTransform::winograd4))
            throw std::out_of_range("an unknown weight transform");
        transforms.push_back(static_cast<WeightTransform>(number));
    }
    return transforms;
}

std::vector<loops::Layout> layoutsFromJson(const nlohmann::json& list) {
    std::vector<loops::Layout> layouts;
    for (const auto& axes : list) {
        std::vector<loops::Layout::Axis> made;
        for (const auto& axis : axes)
            made.push_back({axis.at(0).get<std::size_t>(), axis.at(1).get<std::int64_t>(), axis.at(2).get<std::int64_t>()});
        layouts.emplace_back(std::move(made));
    }
    return layouts;
}

} // namespace

nlohmann::json KernelPackage::header() const {
    return {{"name", kernel.name},
            {"extents", kernel.phaseExtents},
            {"scratch", kernel.scratchBytes},
            {"arguments", toJson(argumentLayouts)},
            {"transforms", toJson(argumentTransforms)},
            {"outputs", toJson(outputLayouts)},
            {"config", config},
            {"hash", hexHash(hash)}};
}

Result<KernelPackage> KernelPackage::fromParts(const nlohmann::json& header, std::vector<std::byte> object) {
    KernelPackage package;
    try {
        package.kernel.name = header.at("name").get<std::string>();
        package.kernel.phaseExtents = header.at("extents").get<std::vector<std::int64_t>>();
        package.kernel.scratchBytes = header.at("scratch").get<std::vector<std::int64_t>>();
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
    const auto header = nlohmann::json::parse(bytes.substr(0, newline), nullptr, false);
    if (newline == std::string_view::npos || header.is_discarded())
        return internalError("a built kernel arrived damaged");
    return fromParts(header, toBlob(bytes.substr(newline + 1)));
}

std::uint64_t KernelPackage::computeHash() const {
    Hasher hasher;
    hasher.add(kernel.object.size()).bytes(kernel.object.data(), kernel.object.size());
    hasher.add(kernel.phaseExtents).add(kernel.scratchBytes);
    hasher.add(std::string_view(toJson(argumentTransforms).dump()));
    hasher.add(std::string_view(toJson(argumentLayouts).dump())).add(std::string_view(toJson(outputLayouts).dump()));
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
    target.threads = body.value("threads", 1);
    if (target.threads < 1)
        return inputError("a target needs at least one thread");
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
