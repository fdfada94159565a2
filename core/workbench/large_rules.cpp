// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/large_rules.h"

#include <sys/resource.h>

#include "core/store/user_key.h"
#include "core/substitution/large_generation.h"
#include "core/workbench/open_store.h"

namespace tunesmith {
namespace {

using substitution::LargeGenerationProgress;

Result<std::filesystem::path> folderFor(const RuleGenerationOptions& options) {
    if (!options.workFolder.empty())
        return options.workFolder;
    TS_ASSIGN(const std::filesystem::path store, storePath(""));
    return store.parent_path() / "rule-generation";
}

std::string described(const LargeGenerationProgress& progress, std::size_t memory) {
    std::string text;
    if (progress.rules > 0)
        text += std::to_string(progress.rules) + " rules, ";
    if (progress.terms > 0)
        text += std::to_string(progress.terms) + " terms, ";
    return text + std::to_string(progress.diskBytes >> 20) + " MiB on disk, at most " + std::to_string(peakMemory() >> 20) + " of " +
           std::to_string(memory >> 20) + " MiB in memory";
}

} // namespace

std::size_t peakMemory() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

Result<std::vector<substitution::Rule>> generateLargeRules(const RuleGenerationOptions& options, int threads, const Work& work, GeneratedRules& made) {
    substitution::LargeGenerationOptions wanted;
    wanted.enumeration.operators = options.operators;
    wanted.enumeration.threads = threads;
    wanted.enumeration.seed = options.seed;
    wanted.memory = options.memoryMebibytes << 20;
    TS_ASSIGN(wanted.folder, folderFor(options));
    wanted.key = userKey();
    TS_ASSIGN(substitution::LargeGenerationResult found, substitution::generateLarge(wanted, work.stop, [&](const LargeGenerationProgress& progress) {
                  const double fraction = progress.parts > 0 ? static_cast<double>(progress.done) / static_cast<double>(progress.parts) : -1;
                  work.report(progress.phase, fraction, described(progress, wanted.memory));
              }));
    made.terms = found.terms;
    made.pairs = found.counts.pairs + found.counts.shared;
    made.trivial = found.counts.fromOperands;
    made.untrue = found.counts.untrue;
    made.renamed = found.counts.renamed;
    made.candidates = found.candidates;
    made.bytes = found.termBytes;
    made.diskBytes = found.diskBytes;
    made.resumed = found.resumed;
    made.enumerationSeconds = found.enumerationSeconds;
    made.comparisonSeconds = found.comparisonSeconds;
    made.pruningSeconds = found.pruningSeconds;
    made.peakBytes = peakMemory();
    return std::move(found.rules);
}

} // namespace tunesmith
