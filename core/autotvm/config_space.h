// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/autotvm/record.h"
#include "core/autotvm/split.h"
#include "core/search/knob_space.h"

namespace tunesmith::autotvm {

// A space with what its records need besides. The text of a knob's value is the value as records write it.
struct ConfigSpace {
    KnobSpace knobs;
    std::vector<std::string> kinds;    // of each knob, as in KnobSetting
    std::vector<std::int64_t> extents; // of the loop that a knob splits, else 0
    double flops = 0;                  // of one run of the task; 0: unknown

    std::vector<KnobSetting> entityOf(const Config& config) const;

    // Does a record's config mean this one? The outermost part of a split may be written as -1 or as what
    // follows from the others, and knobs stand in the order of the space.
    bool agrees(const Config& config, const std::vector<KnobSetting>& entity) const;

    // For cost models, one row per config: sign(x) * log2(|x| + 1) of every number, log2 of every part of a
    // split, the outermost one included.
    FeatureMatrix features(std::span<const Config> configs) const;

    // The config of a record, by its index: none if the space has no such index or the settings that the
    // record lists are others.
    std::optional<Config> configOf(const Record& record) const;
};

// Knobs are added in the order of the template; the first mistake is kept for finish().
class ConfigSpaceBuilder {
public:
    explicit ConfigSpaceBuilder(std::string name) : name_(std::move(name)) {}

    ConfigSpaceBuilder& split(const std::string& knob, std::int64_t extent, const SplitOptions& options);
    ConfigSpaceBuilder& split(const std::string& knob, std::int64_t extent, int parts);
    ConfigSpaceBuilder& numbers(const std::string& knob, const std::vector<std::int64_t>& values);
    ConfigSpaceBuilder& flag(const std::string& knob); // true, false
    Result<ConfigSpace> finish(double flops, KnobSpace::Filter filter = {});

private:
    ConfigSpaceBuilder& add(Knob knob, const char* kind, std::int64_t extent);

    std::string name_;
    std::vector<Knob> knobs_;
    std::vector<std::string> kinds_;
    std::vector<std::int64_t> extents_;
    Status status_;
};

} // namespace tunesmith::autotvm
