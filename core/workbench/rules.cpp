// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/rules.h"

#include <chrono>
#include <span>
#include <utility>

#include "core/base/atomic_file.h"
#include "core/substitution/candidates.h"
#include "core/substitution/derivation.h"
#include "core/workbench/large_rules.h"
#include "core/workbench/machine.h"
#include "core/workbench/rule_equation.h"

namespace tunesmith {
namespace {

using namespace substitution;

class Stopwatch {
public:
    double lap() {
        const auto before = std::exchange(begun_, std::chrono::steady_clock::now());
        return std::chrono::duration<double>(begun_ - before).count();
    }

private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

Result<TermEnumeration> enumerate(const RuleGenerationOptions& options, int threads, const Work& work) {
    EnumerationOptions wanted;
    wanted.operators = options.operators;
    wanted.threads = threads;
    wanted.seed = options.seed;
    work.report("enumerating terms");
    return TermEnumeration::run(wanted, work.stop, [&](const TermEnumeration::Progress& progress) {
        work.report("enumerating terms", static_cast<double>(progress.operators) / options.operators,
                    std::to_string(progress.terms) + " terms of up to " + std::to_string(progress.operators) + " operators, " +
                        std::to_string(progress.bytes >> 20) + " MB");
    });
}

} // namespace

RuleEquation equationOf(const substitution::Rule& rule) {
    NamedRule named = namedRule(rule);
    RuleEquation made{std::move(named.left), std::move(named.right), {}};
    for (const auto& [name, shape] : named.variables)
        made.variables.emplace_back(name, toText(shape));
    return made;
}

std::string RuleEquation::text() const {
    std::string text = left + " = " + right;
    const char* separator = " where ";
    for (const auto& [name, shape] : variables)
        text += std::exchange(separator, ", ") + name + ": " + shape;
    return text;
}

Result<GeneratedRules> generateRules(const RuleGenerationOptions& options, const Work& work) {
    const int threads = options.threads > 0 ? options.threads : usableCores();
    GeneratedRules made;
    if (options.operators > kMostOperatorsInMemory) {
        TS_ASSIGN(const std::vector<Rule> rules, generateLargeRules(options, threads, work, made));
        std::ranges::transform(rules, std::back_inserter(made.rules), equationOf);
        return made;
    }
    Stopwatch watch;
    TS_ASSIGN(const TermEnumeration all, enumerate(options, threads, work));
    made.terms = all.terms().size();
    made.bytes = all.bytes();
    made.enumerationSeconds = watch.lap();
    work.report("comparing terms", -1, std::to_string(made.terms) + " terms");
    CandidateCounts counts;
    TS_ASSIGN(const std::vector<Rule> candidates, findCandidates(all, &counts, work.stop));
    made.pairs = counts.pairs + counts.shared;
    made.trivial = counts.fromOperands;
    made.untrue = counts.untrue;
    made.renamed = counts.renamed;
    made.candidates = candidates.size();
    made.comparisonSeconds = watch.lap();
    const auto kept = withoutDerived(candidates, threads, work.stop, [&](std::size_t seen, std::size_t count) {
        work.report("leaving out what follows from others", static_cast<double>(seen) / static_cast<double>(std::max<std::size_t>(1, candidates.size())),
                    std::to_string(count) + " rules kept of " + std::to_string(seen));
    });
    if (!kept)
        return cancelledError();
    for (const Rule& rule : *kept)
        made.rules.push_back(equationOf(rule));
    made.pruningSeconds = watch.lap();
    made.peakBytes = peakMemory();
    return made;
}

Status writeRules(const GeneratedRules& rules, const std::filesystem::path& file) {
    TS_ASSIGN(AtomicFile output, AtomicFile::create(file));
    std::string text = "# " + std::to_string(rules.rules.size()) + " substitutions; each was found with these shapes\n";
    for (const RuleEquation& rule : rules.rules)
        text += rule.text() + "\n";
    TS_TRY(output.write(std::as_bytes(std::span(text))));
    return output.commit();
}

} // namespace tunesmith
