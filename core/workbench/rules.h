// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include "core/base/result.h"
#include "core/workbench/work.h"

namespace tunesmith {

struct RuleGenerationOptions {
    int operators = 3; // of each side at most; the terms of four are kept on disk
    int threads = 0;   // 0: all cores
    std::uint64_t seed = 1;
    std::size_t memoryMebibytes = 2048;   // for four operators: fewer threads work where that is little
    std::filesystem::path workFolder;     // of four operators: what was found so far; empty: beside the default store
};

// An equation between two graphs of tensor operators, for whose variables some shapes are known with which it holds.
struct RuleEquation {
    std::string left, right;                                   // "matmul(v1, v2); matmul(v1, v3)": two results
    std::vector<std::pair<std::string, std::string>> variables; // name and shape: "2x4", "(4+4)x4" where a split wants it put together

    std::string text() const; // "left = right where v1: 2x4, v2: 4x4"
};

struct GeneratedRules {
    std::vector<RuleEquation> rules;    // none follows from the others in a few steps
    std::size_t terms = 0;              // that were compared
    std::size_t pairs = 0;              // of equal ones, and of pairs that share an operator
    std::size_t trivial = 0, untrue = 0, renamed = 0; // of those: say nothing of their own; hold for no true operators; differ in names
    std::size_t candidates = 0;         // the rest
    std::size_t bytes = 0;              // the terms took
    std::size_t diskBytes = 0;          // were kept in the work folder
    std::size_t peakBytes = 0;          // of memory that the process had
    bool resumed = false;               // went on with what an earlier start had found
    double enumerationSeconds = 0, comparisonSeconds = 0, pruningSeconds = 0;
};

// Substitutions found by computing all small graphs on random numbers and pairing those that are equal (Jia et al., TASO, SOSP 2019). What is
// found holds for the generator's shapes; nothing has proven it for others yet.
Result<GeneratedRules> generateRules(const RuleGenerationOptions& options, const Work& work = {});

// One rule in each line, "left = right where v1: 2x4, v2: 4x4"; lines that begin with # are remarks.
Status writeRules(const GeneratedRules& rules, const std::filesystem::path& file);

} // namespace tunesmith
