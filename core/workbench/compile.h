// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>

#include "core/workbench/model.h"

namespace tunesmith {

struct CompileRequest {
    std::filesystem::path folder; // appears whole or not at all; an older export in its place is replaced, files of the user in it stay
    std::string store;            // empty: the default store
    int threads = 0;        // 0: all cores. Records of the nearest thread count serve where there are none
    int builders = 0;       // threads that compile; 0: all cores
    bool untuned = false;   // ignore all records
    std::uint64_t seed = 1; // of the inputs of the check
    Work work;
    std::string space = {}; // key of tuneSpaces(): its schedules only; empty: our own, or another's where a record is faster than ours
    std::string prefix = {};     // of library, header and functions; empty: made of the model's name
    double acceptDifference = 0; // from the reference, of an output's scale, that is accepted where rounding does not explain it
    std::map<std::string, std::filesystem::path> inputs = {}; // of the check: .npy files by name; the others are drawn
};

// How far the module's outputs are from the reference engine's on random inputs, and each kernel's alone on the reference's; also in
// module.json. Differences are relative to the scale of the output.
struct ModuleCheck {
    bool passed = false; // else the difference was accepted by the user
    double maxRelative = 0;
    double nudge = 0, nudged = 0; // what moving inputs and weights by so much does to the reference; 0: it was not asked
    int draws = 1;          // of inputs
    std::size_t kernels = 0; // steps that were judged alone,
    double kernelError = 0;  // and the largest difference among them
    double accepted = 0;
    std::uint64_t seed = 0;
    std::string text; // what was found, in one sentence
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

Status requireExportable(const Model& model); // an Error names all that keeps it from becoming a module
std::string usualPrefix(const Model& model); // of a request without one
Status checkAskedPrefix(const std::string& prefix); // the Error names one that would do

// Best records of the store -> exported module. What does not agree with the reference is not written.
Result<CompileResult> compileModel(const Model& model, const CompileRequest& request);

} // namespace tunesmith
