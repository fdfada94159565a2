// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/stop_token.h"

namespace tunesmith {

// What a run has seen of a workload's configuration space so far. Finals do not count: they time again what was tried.

struct ValueCoverage {
    std::string text;
    std::int64_t tries = 0;
    std::optional<double> bestMs; // none: never tried, or every try failed
};

struct KnobCoverage {
    std::string name;
    std::vector<ValueCoverage> values; // all that the space has, in its order
};

// One way of computing the workload, with knobs of its own.
struct PartCoverage {
    std::string name;
    double configs = 0;     // that can be tried
    std::int64_t tried = 0; // different ones
    std::optional<double> bestMs;
    std::vector<KnobCoverage> knobs;
};

struct SpaceCoverage {
    std::int64_t trials = 0, failed = 0;
    std::int64_t foreign = 0; // trials whose config is none of this space: another version of the program had another space
    std::vector<PartCoverage> parts;

    double configs() const;     // of all parts
    std::int64_t tried() const; // likewise
};

// Refuses a run or a workload that the store does not have.
Result<SpaceCoverage> spaceCoverage(const std::string& store, std::int64_t run, const std::string& workload,
                                    const StopToken& stop = {});

} // namespace tunesmith
