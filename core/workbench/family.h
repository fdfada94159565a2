// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/workbench/compile.h"
#include "core/workbench/run.h"

namespace tunesmith {

// A folder of modules of one model for ranges of its dimensions: a module has fixed shapes, so there is one
// for each extent that was chosen (the ends of a range and the powers of two between them). For other extents
// a larger module serves, its inputs padded, where the model computes each row from that row alone
// (module/independent_rows.h); else the model, which lies beside the modules, is compiled for them when they
// first occur, and the folder has one module more. C programs use the modules in the folder as any other.
struct FamilyResult {
    struct Member {
        Dimensions extents;
        CompileResult module;
    };
    std::filesystem::path folder;
    std::vector<Member> members;
    std::map<std::string, std::string>
        mixing; // dimensions that cannot be padded, and why; the other ranges can
};

// What is open in the model must be in `ranges`. The folder appears whole or not at all.
Result<FamilyResult> compileFamily(const std::string& fileOrSample, const DimensionRanges& ranges,
                                   const CompileRequest& request);

bool isModuleFamily(const std::filesystem::path& path);

// Which module serves some extents, and how.
struct FamilyChoice {
    enum class How { exact, padded, compiled };
    How how = How::exact;
    std::filesystem::path folder; // of the module
    std::string text;             // "batch=3: the module for batch=4, padded"
};

// With inputs of whatever extents; `dimensions` says those that no input file does. Outputs are as long as
// asked.
struct FamilyRun {
    RunResult result;
    FamilyChoice choice;
};
Result<FamilyRun> runFamily(const std::filesystem::path& folder, const Dimensions& dimensions,
                            const RunRequest& request);

// The module that serves these extents, compiled if there is none yet.
Result<FamilyChoice> chooseMember(const std::filesystem::path& folder, const Dimensions& dimensions,
                                  const InputChoice& inputs, const CompileRequest& request);

} // namespace tunesmith
