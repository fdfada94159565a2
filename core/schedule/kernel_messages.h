// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/codegen/kernel.h"
#include "core/loops/layout.h"
#include "core/process/message.h"
#include "core/schedule/weight_transform.h"
#include "core/search/config.h"

namespace tunesmith {

// A built candidate on its way between processes: its code and the layouts in which it wants its arguments.
struct KernelPackage {
    KernelObject kernel;
    std::vector<loops::Layout> argumentLayouts; // of LoweredWorkload::arguments
    std::vector<WeightTransform> argumentTransforms; // of those
    std::vector<loops::Layout> outputLayouts;
    std::string config;
    std::uint64_t hash = 0; // of the code and the layouts

    nlohmann::json header() const; // all but the code
    static Result<KernelPackage> fromParts(const nlohmann::json& header, std::vector<std::byte> object);
    std::string pack() const; // header line and code, for an Artifact
    static Result<KernelPackage> unpack(std::string_view bytes);
    std::uint64_t computeHash() const;
};

// Parts of requests that all verbs share: {"workload": key, "isa", "cpu", "threads"} and the serialized workload as blob 0.
Message workloadRequest(const std::string& verb, const std::string& key, const std::string& serialized, const Target& target);
inline constexpr int kMostTargetThreads = 256; // of any target, as many as a module's pool has (runtime/thread_pool.h)
Result<Target> targetFromJson(const nlohmann::json& body);

std::vector<std::byte> toBlob(std::string_view text);
std::string_view blobText(const std::vector<std::byte>& blob);
std::vector<std::byte> samplesToBlob(const std::vector<float>& samples);
std::vector<float> samplesFromBlob(const std::vector<std::byte>& blob);

} // namespace tunesmith
