// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/substitution/large_generation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "core/base/hash.h"
#include "core/substitution/large_candidates.h"
#include "core/substitution/large_pruning.h"
#include "core/substitution/parallel.h"

namespace tunesmith::substitution {
namespace {

// What a thread needs beside the terms in memory, and to see what follows: graphs of two thousand nodes with all places where rules fit.
constexpr std::size_t kBytesPerThread = std::size_t(32) << 20, kBytesToJudge = std::size_t(160) << 20;

class Stopwatch {
public:
    double lap() {
        const auto before = std::exchange(begun_, std::chrono::steady_clock::now());
        return std::chrono::duration<double>(begun_ - before).count();
    }

private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// What must be the same for parts to be of use. The number is that of this way to make them.
std::string purposeOf(const LargeGenerationOptions& options) {
    Hasher terms;
    for (const TermInput& input : options.enumeration.inputs)
        terms.add(input.name).add(toText(input.shape)).add(input.role);
    for (std::size_t op = 0; op < kTermOps; ++op)
        terms.add(traits(static_cast<TermOp>(op)).name);
    return "substitutions of " + std::to_string(options.enumeration.operators) + " operators with seed " + std::to_string(options.enumeration.seed) +
           " (form 2, inputs and operators " + hexHash(terms.value()) + ", parts of " + std::to_string(options.operandsPerPart) + " and " +
           std::to_string(options.rulesPerPart) + ")";
}

std::string mebibytes(std::size_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }

class LargeGeneration {
public:
    LargeGeneration(const LargeGenerationOptions& options, PartFolder& folder, const StopToken& stop, const LargeGenerationObserver& observer)
        : options_(options), folder_(folder), stop_(stop), observer_(observer), threads_(options.enumeration.threads) {
        result_.resumed = folder.resumed();
    }

    Result<LargeGenerationResult> run() {
        TS_ASSIGN(const BaseRules base, makeBase());
        result_.comparisonSeconds = watch_.lap();
        TS_ASSIGN(const CandidateList candidates, makeCandidates());
        result_.comparisonSeconds += watch_.lap();
        result_.terms = candidates.terms;
        result_.termBytes = candidates.termBytes;
        TS_TRY(prune(base, candidates));
        result_.pruningSeconds = watch_.lap();
        result_.candidates = base.candidates + candidates.rules;
        sumUp(base.counts, candidates);
        result_.diskBytes = folder_.bytes();
        TS_TRY(folder_.remove());
        return std::move(result_);
    }

private:
    void report(const char* phase, std::size_t done = 0, std::size_t parts = 0, std::size_t rules = 0) const {
        if (observer_)
            observer_({phase, done, parts, result_.terms, rules, folder_.bytes()});
    }

    Result<BaseRules> makeBase() {
        report("rules of fewer operators");
        EnumerationOptions fewer = options_.enumeration;
        fewer.operators -= 1;
        return baseRules(fewer, folder_, stop_);
    }

    // The terms in memory are given back as soon as all are compared.
    Result<CandidateList> makeCandidates() {
        TS_ASSIGN(const std::optional<CandidateList> known, finishedCandidates(folder_, options_.rulesPerPart));
        if (known)
            return *known;
        EnumerationOptions listed = options_.enumeration;
        listed.operators -= 1;
        listed.renamed = true;
        report("terms in memory");
        TS_ASSIGN(const TermEnumeration all, TermEnumeration::run(listed, stop_));
        const SmallestTerms smallest(all);
        const ResultPairs pairs(all, smallest);
        LargeTerms terms(all, smallest, folder_, options_.operandsPerPart);
        const LargeCandidates search(all, smallest, terms, pairs, folder_);
        result_.termBytes = search.termBytes();
        TS_TRY(fitThreads());
        TS_TRY(makeTerms(all, terms));
        result_.enumerationSeconds = watch_.lap();
        return compare(search);
    }

    Result<CandidateList> compare(LargeCandidates search) {
        const std::size_t each = (options_.memory - result_.termBytes) / static_cast<std::size_t>(threads_) / 4;
        TS_TRY(search.prepare(each));
        TS_TRY(inParts("comparing terms", search.parts(), [&](std::size_t part) { return search.make(part, stop_); }));
        report("putting candidates in order");
        return search.merge(options_.rulesPerPart, options_.memory / 16, stop_);
    }

    Status fitThreads() {
        if (options_.memory < result_.termBytes + kBytesPerThread)
            return inputError("the terms in memory take more than a limit of " + mebibytes(options_.memory - 1) + " allows; " +
                              mebibytes(result_.termBytes + kBytesPerThread) + " is the least for these");
        threads_ = threadsWithin((options_.memory - result_.termBytes) / kBytesPerThread);
        return {};
    }

    int threadsWithin(std::size_t most) const {
        return static_cast<int>(std::clamp(most, std::size_t(1), static_cast<std::size_t>(std::max(1, options_.enumeration.threads))));
    }

    Status makeTerms(const TermEnumeration& all, LargeTerms& terms) {
        const auto count = [&] { result_.terms = all.terms().size() + terms.count(); };
        TS_TRY(inParts("terms on disk", terms.parts(), [&](std::size_t part) { return terms.make(part); }, count));
        return {};
    }

    Status prune(const BaseRules& base, const CandidateList& candidates) {
        threads_ = threadsWithin(options_.memory / kBytesToJudge);
        LargePruning pruning(base.rules, folder_);
        const std::size_t parts = (candidates.rules + options_.rulesPerPart - 1) / options_.rulesPerPart;
        TS_TRY(inParts("judging candidates", parts, [&](std::size_t part) { return pruning.judge(part, stop_); }));
        TS_TRY(pruning.load(parts));
        const auto tell = [&](const char* phase) {
            return [this, phase, &base](std::size_t done, std::size_t of, std::size_t kept) { report(phase, done, of, base.rules.size() + kept); };
        };
        TS_TRY(pruning.prune(threads_, stop_, tell("leaving out what follows from others")));
        TS_TRY(pruning.dropWhatLaterOnesSay(threads_, stop_, tell("leaving out what follows from later ones")));
        result_.ofFewer = base.rules.size();
        result_.rules = base.rules;
        std::ranges::copy(pruning.kept(), std::back_inserter(result_.rules));
        return {};
    }

    template <class Make> Status inParts(const char* phase, std::size_t parts, const Make& make, const std::function<void()>& count = {}) {
        std::atomic<std::size_t> done = 0;
        const auto one = [&](std::size_t part) {
            Status status = make(part);
            ++done;
            return status;
        };
        return inParallel(parts, threads_, stop_, one, [&] {
            if (count)
                count();
            report(phase, done, parts);
        });
    }

    void sumUp(const CandidateCounts& base, const CandidateList& large) {
        const auto sum = [&](std::size_t CandidateCounts::*count) { result_.counts.*count = base.*count + large.counts.*count; };
        for (const auto count : {&CandidateCounts::classes, &CandidateCounts::pairs, &CandidateCounts::shared, &CandidateCounts::fromOperands,
                                 &CandidateCounts::untrue, &CandidateCounts::renamed})
            sum(count);
    }

    const LargeGenerationOptions& options_;
    PartFolder& folder_;
    const StopToken& stop_;
    const LargeGenerationObserver& observer_;
    int threads_;
    Stopwatch watch_;
    LargeGenerationResult result_;
};

} // namespace

Result<LargeGenerationResult> generateLarge(const LargeGenerationOptions& options, const StopToken& stop, const LargeGenerationObserver& observer) {
    TS_ASSIGN(PartFolder folder, PartFolder::open(options.folder, purposeOf(options), options.key));
    return LargeGeneration(options, folder, stop, observer).run();
}

} // namespace tunesmith::substitution
