// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/module/layout_knowledge.h"

#include <algorithm>
#include <limits>

namespace tunesmith {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kOptimism = 0.95; // of estimates: what promises as much as the best is worth a measurement ...
constexpr double kHandicap = 0.02; // ... and what gains less is not worth a change
constexpr std::size_t kPerFamily = 3; // other layouts that are measured of a workload

} // namespace

LayoutKnowledge::LayoutKnowledge(const LayoutProblem& problem)
    : problem_(problem), estimate_(problem), measured_(problem.workloads().size()), greedy_(problem.greedy(std::vector<double>(measured_.size(), 1.0)).workloads) {}

void LayoutKnowledge::learn(std::size_t workload, std::optional<double> ms) {
    measured_[workload] = ms;
    if (ms)
        failed_.erase(workload);
    else
        failed_.insert(workload);
}

std::vector<std::size_t> LayoutKnowledge::unmeasured(std::vector<std::size_t> workloads) const {
    std::erase_if(workloads, [&](std::size_t i) { return measured_[i] || failed_.contains(i); });
    return workloads;
}

std::vector<std::size_t> LayoutKnowledge::promising() const {
    const auto plan = problem_.solve(promises(), kHandicap);
    return plan ? unmeasured(plan->workloads) : std::vector<std::size_t>();
}

std::vector<double> LayoutKnowledge::costs() const {
    std::vector<double> costs;
    for (const auto& ms : measured_)
        costs.push_back(ms.value_or(kInfinity));
    return costs;
}

std::optional<LayoutChoice> LayoutKnowledge::best() const { return problem_.solve(costs(), kHandicap); }

// What is measured costs that; of the rest an estimate, as long as it may still be measured.
std::vector<double> LayoutKnowledge::promises() const {
    std::vector<double> costs = estimate_.costs(measured_);
    std::map<std::size_t, std::size_t> tried; // layouts of each family
    for (std::size_t i = 0; i < costs.size(); ++i)
        if (!problem_.isConversion(i) && (measured_[i] || failed_.contains(i)) && !std::ranges::binary_search(greedy_, i))
            ++tried[problem_.family(i)];
    for (std::size_t i = 0; i < costs.size(); ++i) {
        const bool usedUp = !problem_.isConversion(i) && tried[problem_.family(i)] >= kPerFamily;
        if (!measured_[i])
            costs[i] = failed_.contains(i) || usedUp ? kInfinity : costs[i] * kOptimism;
    }
    return costs;
}

} // namespace tunesmith
