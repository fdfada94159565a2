// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/final.h"

#include <algorithm>

#include "core/measure/timing.h"
#include "core/stats/verdict.h"

namespace tunesmith {
namespace {

constexpr double kClose = 1.15; // others than the default take part only if they came so near to the fastest
constexpr double kMilliseconds = 60;
constexpr int kRounds = 4; // of so long, as long as it is not certain

// Those that can be built, with their kernels.
std::vector<Finalist> readied(ScheduleProblem& problem, std::vector<Finalist> finalists, const StopToken& stop) {
    std::vector<Finalist> ready;
    for (Finalist& finalist : finalists) {
        if (!finalist.artifact)
            if (auto outcome = problem.tryBuild(finalist.config, stop); outcome.built)
                finalist.artifact = std::move(outcome.built->artifact);
        if (finalist.artifact)
            ready.push_back(std::move(finalist));
    }
    return ready;
}

std::size_t fastestOf(std::span<const std::vector<float>> samples) {
    const auto low = [](const std::vector<float>& series) { return lowQuantile(series); };
    return static_cast<std::size_t>(std::ranges::min_element(samples, {}, low) - samples.begin());
}

VerdictKind challenge(const std::vector<float>& challenger, const std::vector<float>& holder) {
    const std::vector<double> a(holder.begin(), holder.end()), b(challenger.begin(), challenger.end());
    const auto verdict = judgePaired(a, b);
    return verdict.ok() ? verdict->kind : VerdictKind::cannotTell;
}

} // namespace

FinalDecision decideFinal(std::span<const std::vector<float>> samples, std::optional<std::size_t> defaultIndex) {
    const std::size_t fastest = fastestOf(samples);
    if (!defaultIndex || fastest == *defaultIndex)
        return {fastest, true};
    const VerdictKind verdict = challenge(samples[fastest], samples[*defaultIndex]);
    return {verdict == VerdictKind::faster ? fastest : *defaultIndex, verdict != VerdictKind::cannotTell};
}

std::optional<FinalResult> holdFinal(ScheduleProblem& problem, std::vector<Finalist> finalists, const Config& defaultConfig,
                                     const StopToken& stop) {
    if (finalists.empty())
        return {};
    const double limit = kClose * finalists.front().ms;
    std::erase_if(finalists, [&](const Finalist& f) { return f.ms > limit && !(f.config == defaultConfig); });
    finalists = readied(problem, std::move(finalists), stop);
    if (finalists.empty())
        return {};
    std::vector<Artifact> artifacts;
    std::optional<std::size_t> defaultIndex;
    for (std::size_t i = 0; i < finalists.size(); ++i) {
        artifacts.push_back(*finalists[i].artifact);
        if (finalists[i].config == defaultConfig)
            defaultIndex = i;
    }
    std::vector<std::vector<float>> samples(finalists.size());
    FinalDecision decision;
    for (int round = 0; round < kRounds && !decision.certain; ++round) {
        const auto fresh = problem.compare(artifacts, kMilliseconds, stop);
        if (!fresh.ok())
            return {};
        for (std::size_t i = 0; i < samples.size(); ++i)
            samples[i].insert(samples[i].end(), (*fresh)[i].begin(), (*fresh)[i].end());
        decision = decideFinal(samples, defaultIndex);
    }
    FinalResult result{finalists[decision.winner].config, samples[decision.winner], {}};
    if (defaultIndex)
        result.defaultMs = lowQuantile(samples[*defaultIndex]);
    return result;
}

} // namespace tunesmith
