// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/autotvm/loop_features.h"
#include "core/base/json_text.h"

namespace tunesmith::autotvm {
namespace {

using Json = nlohmann::json;

// The places of the annotations in their one-hot.
constexpr std::array<std::string_view, 11> kAnnotations{
    "none",        "vectorize",   "unroll",      "blockIdx.x", "blockIdx.y", "blockIdx.z",
    "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread",    "fuse"};

float numberOf(const Json& value) {
    if (value.is_boolean())
        return value.get<bool>() ? 1.0f : 0.0f;
    return value.is_number() ? value.get<float>() : 0.0f;
}

void appendAnnotation(const Json& word, std::vector<float>& out) {
    for (const std::string_view annotation : kAnnotations)
        out.push_back(word.is_string() && word.get_ref<const std::string&>() == annotation ? 1.0f : 0.0f);
}

} // namespace

std::vector<float> knobFeatures(const std::vector<KnobSetting>& entity) {
    std::vector<float> out;
    for (const KnobSetting& setting : entity) {
        const Json value = parseJson<Json>(setting.value);
        if (!value.is_array()) {
            out.push_back(numberOf(value));
            continue;
        }
        for (const Json& item : value)
            if (setting.kind == "an")
                appendAnnotation(item, out);
            else
                out.push_back(numberOf(item));
    }
    return out;
}

} // namespace tunesmith::autotvm
