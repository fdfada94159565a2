// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <functional>

#include "core/substitution/candidates.h"

namespace tunesmith::substitution {

// Rules of so many operators that their terms are kept on disk. Terms of one operator less stay in memory; the largest are written to a folder
// as fingerprints, compared bucket by bucket, and their candidates judged part by part. Every part is a file that appears whole
// (part_folder.h): a run that was killed or stopped goes on from there when it is started again with the same options. The rules do not depend
// on threads, memory, seed or how often it was begun.
//
// Of the candidates stay those that say what neither the rules of fewer operators nor earlier ones do, even on a long way (consequence.h).
struct LargeGenerationOptions {
    EnumerationOptions enumeration;
    std::filesystem::path folder; // for the parts; it goes away at the end
    std::string key;              // the user's secret, by which parts are known again; without one, no run goes on with those of another
    std::size_t memory = std::size_t(2) << 30; // fewer threads work where that is little
    TermId operandsPerPart = 4096; // how much is done again after a kill
    std::size_t rulesPerPart = 256;
};

struct LargeGenerationProgress {
    const char* phase = "";
    std::size_t done = 0, parts = 0; // of the phase
    std::size_t terms = 0, rules = 0, diskBytes = 0;
};

struct LargeGenerationResult {
    std::vector<Rule> rules;      // those of fewer operators first
    std::size_t ofFewer = 0;      // how many those are
    std::size_t terms = 0;        // in memory and on disk
    CandidateCounts counts;       // the rules of fewer operators included, as in candidates
    std::size_t candidates = 0;
    std::size_t termBytes = 0, diskBytes = 0;
    bool resumed = false;
    double enumerationSeconds = 0, comparisonSeconds = 0, pruningSeconds = 0; // of this start
};

// `observer` is called from the calling thread. Errors: the folder, a memory limit below what the terms in memory take.
using LargeGenerationObserver = std::function<void(const LargeGenerationProgress&)>;
Result<LargeGenerationResult> generateLarge(const LargeGenerationOptions& options, const StopToken& stop = {}, const LargeGenerationObserver& observer = {});

} // namespace tunesmith::substitution
