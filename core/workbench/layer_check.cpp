// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/workbench/layer_check.h"

#include <algorithm>
#include <map>

#include "core/stats/verdict.h"

namespace tunesmith {
namespace {

bool sameLayers(const ModuleInfo& a, const ModuleInfo& b) {
    const auto same = [](const ModuleStep& x, const ModuleStep& y) { return x.name == y.name && x.workload == y.workload; };
    return std::ranges::equal(a.steps, b.steps, same);
}

// The time of some layers in each round.
std::vector<double> sums(const std::vector<std::vector<double>>& rounds, const std::vector<std::size_t>& layers) {
    std::vector<double> all;
    for (const std::vector<double>& round : rounds) {
        double sum = 0;
        for (const std::size_t layer : layers)
            sum += layer < round.size() ? round[layer] : 0;
        all.push_back(sum);
    }
    return all;
}

} // namespace

std::vector<std::string> slowerInModel(const ModuleInfo& untuned, const ModuleInfo& tuned, const PairSteps& steps) {
    if (!sameLayers(untuned, tuned))
        return {};
    std::map<std::string, std::vector<std::size_t>> layers; // that were tuned, by workload
    for (std::size_t i = 0; i < tuned.steps.size(); ++i)
        if (tuned.steps[i].config != untuned.steps[i].config)
            layers[tuned.steps[i].workload].push_back(i);
    std::vector<std::string> slower;
    for (const auto& [workload, indices] : layers) {
        const auto verdict = judgePaired(sums(steps.a, indices), sums(steps.b, indices));
        if (verdict.ok() && verdict->kind == VerdictKind::slower)
            slower.push_back(workload);
    }
    return slower;
}

} // namespace tunesmith
