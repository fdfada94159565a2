// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/autotvm/config_space.h"

#include <cmath>

namespace tunesmith::autotvm {
namespace {

// The outermost part of a split, from the others; rounded up where these leave a tail.
std::int64_t outermost(std::int64_t extent, const Sizes& sizes) {
    std::int64_t inner = 1;
    for (std::size_t i = 1; i < sizes.size(); ++i)
        inner *= sizes[i];
    return (extent + inner - 1) / inner;
}

bool sameSplit(const KnobValue& value, std::int64_t extent, const KnobSetting& setting) {
    const auto written = setting.numbers();
    if (!written || written->size() != value.numbers.size())
        return false;
    Sizes whole = value.numbers;
    whole[0] = outermost(extent, whole);
    return *written == value.numbers || *written == whole;
}

constexpr int kFeatureVersion = 1;

float signedLog(std::int64_t x) {
    const double number = static_cast<double>(x);
    return static_cast<float>(std::copysign(std::log2(std::abs(number) + 1), number));
}

void appendSplit(const Sizes& sizes, std::int64_t extent, std::vector<float>& out) {
    for (std::size_t part = 0; part < sizes.size(); ++part) {
        const std::int64_t size = part == 0 ? outermost(extent, sizes) : sizes[part];
        out.push_back(static_cast<float>(std::log2(static_cast<double>(size))));
    }
}

} // namespace

std::vector<KnobSetting> ConfigSpace::entityOf(const Config& config) const {
    std::vector<KnobSetting> entity;
    for (std::size_t i = 0; i < kinds.size(); ++i)
        entity.push_back({knobs.knobs()[i].name, kinds[i], knobs.value(config, i).text});
    return entity;
}

bool ConfigSpace::agrees(const Config& config, const std::vector<KnobSetting>& entity) const {
    if (entity.size() != kinds.size())
        return false;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const KnobSetting& setting = entity[i];
        if (setting.name != knobs.knobs()[i].name || setting.kind != kinds[i])
            return false;
        const KnobValue& value = knobs.value(config, i);
        if (kinds[i] == "sp" ? !sameSplit(value, extents[i], setting) : setting.value != value.text)
            return false;
    }
    return true;
}

std::optional<Config> ConfigSpace::configOf(const Record& record) const {
    if (record.index < 0)
        return std::nullopt;
    auto config = knobs.at(static_cast<std::uint64_t>(record.index));
    return config && agrees(*config, record.entity) ? config : std::nullopt;
}

FeatureMatrix ConfigSpace::features(std::span<const Config> configs) const {
    std::vector<float> values;
    for (const Config& config : configs)
        for (std::size_t i = 0; i < kinds.size(); ++i)
            if (const Sizes& numbers = knobs.value(config, i).numbers; kinds[i] == "sp")
                appendSplit(numbers, extents[i], values);
            else
                for (const std::int64_t number : numbers)
                    values.push_back(signedLog(number));
    FeatureMatrix matrix(configs.size(), configs.empty() ? 0 : values.size() / configs.size(),
                         kFeatureVersion);
    matrix.values = std::move(values);
    return matrix;
}

ConfigSpaceBuilder& ConfigSpaceBuilder::split(const std::string& knob, std::int64_t extent,
                                              const SplitOptions& options) {
    auto made = splitKnob(knob, extent, options);
    if (made.ok())
        return add(std::move(made).value(), "sp", extent);
    if (status_.ok())
        status_ = made.error();
    return *this;
}

ConfigSpaceBuilder& ConfigSpaceBuilder::split(const std::string& knob, std::int64_t extent, int parts) {
    SplitOptions options;
    options.parts = parts;
    return split(knob, extent, options);
}

ConfigSpaceBuilder& ConfigSpaceBuilder::numbers(const std::string& knob,
                                                const std::vector<std::int64_t>& values) {
    return add(Knob::ofNumbers(knob, values), "ot", 0);
}

ConfigSpaceBuilder& ConfigSpaceBuilder::flag(const std::string& knob) {
    return add({knob, {{"true", {1}}, {"false", {0}}}}, "ot", 0);
}

ConfigSpaceBuilder& ConfigSpaceBuilder::add(Knob knob, const char* kind, std::int64_t extent) {
    knobs_.push_back(std::move(knob));
    kinds_.emplace_back(kind);
    extents_.push_back(extent);
    return *this;
}

Result<ConfigSpace> ConfigSpaceBuilder::finish(double flops, KnobSpace::Filter filter) {
    if (!status_.ok())
        return status_.error().within("space " + name_);
    TS_ASSIGN(KnobSpace knobs, KnobSpace::make(name_, std::move(knobs_), std::move(filter)));
    return ConfigSpace{std::move(knobs), std::move(kinds_), std::move(extents_), flops};
}

} // namespace tunesmith::autotvm
