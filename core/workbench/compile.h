// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include "core/workbench/model.h"

namespace tunesmith {

struct CompileRequest {
    std::filesystem::path folder; // appears whole or not at all; an older export in its place is replaced
    std::string store;            // empty: the default store
    int threads = 0;        // 0: all cores. Records of the nearest thread count serve where there are none
    int builders = 0;       // threads that compile; 0: all cores
    bool untuned = false;   // ignore all records
    std::uint64_t seed = 1; // of the inputs of the check
    Work work;
    std::string space = {}; // key of tuneSpaces(): its schedules only; empty: our own, or another's where a record is faster than ours
};

// How far the module's outputs are from the reference engine's on random inputs; also in module.json.
struct ModuleCheck {
    bool passed = false;
    double maxAbsolute = 0, maxRelative = 0; // maxRelative: to the output's scale
    std::uint64_t seed = 0;
    double tolerance = 1e-4; // of the scale that was allowed: more for models that amplify rounding (check/sensitivity.h)
    std::string text; // "outputs agree with the reference: largest error 2.1e-06"
};

struct CompileResult {
    std::filesystem::path folder;
    std::string prefix; // of library and functions
    std::uintmax_t libraryBytes = 0, weightBytes = 0;
    std::int64_t arenaBytes = 0;
    int threads = 1;
    std::size_t steps = 0, kernels = 0, tuned = 0; // tuned: kernels that a record of the store chose
    std::size_t layouts = 0; // values that lie otherwise than without measuring, as a plan of the store has them
    std::size_t foreign = 0; // such records that another machine measured: to be measured here
    ModuleCheck check;
};

// Best records of the store -> exported module. What does not agree with the reference is not written.
Result<CompileResult> compileModel(const Model& model, const CompileRequest& request);

} // namespace tunesmith
