// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/module/plan.h"

namespace tunesmith {

// What module.json keeps besides the plan; absent parts stay null.
struct ExportInfo {
    nlohmann::json graph, records, machine, check;
    std::string version = "tunesmith"; // "tunesmith 0.1.0"
    std::string prefix = {}; // of library, header and functions; empty: modulePrefix() of the model's name
    bool probes = false;     // made to be checked: its steps also run one by one (probeStep)
};

struct ExportSummary {
    std::filesystem::path folder;
    std::string prefix;
    std::uintmax_t libraryBytes = 0, weightBytes = 0;
};

// Writes the folder of an exported module: libPREFIX.so, PREFIX.h, weights.bin, module.json, README.md and
// examples in C and Python. It appears whole or not at all: made beside its place and renamed. A folder that
// is empty or an older export is replaced, and what that one does not list stays; anything else in that place is refused.
Result<ExportSummary> exportModule(const ModulePlan& plan, const std::filesystem::path& folder,
                                   const ExportInfo& info);

} // namespace tunesmith
