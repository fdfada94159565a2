// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/pareto.h"

#include <algorithm>
#include <cassert>

namespace tunesmith {

bool dominates(std::span<const double> a, std::span<const double> b) {
    assert(a.size() == b.size());
    bool better = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!(a[i] <= b[i]))
            return false;
        better |= a[i] < b[i];
    }
    return better;
}

std::vector<std::size_t> paretoFront(std::span<const std::vector<double>> costs) {
    std::vector<std::size_t> front;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        bool beaten = false;
        for (std::size_t j = 0; j < costs.size() && !beaten; ++j)
            beaten = dominates(costs[j], costs[i]) || (j < i && costs[j] == costs[i]);
        if (!beaten)
            front.push_back(i);
    }
    std::ranges::stable_sort(front, {}, [&](std::size_t i) { return costs[i]; });
    return front;
}

std::vector<std::size_t> paretoFront(std::span<const Trial> trials,
                                     std::span<const ObjectiveInfo> objectives) {
    std::vector<std::size_t> members;
    std::vector<std::vector<double>> costs;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        if (!trials[i].ok())
            continue;
        members.push_back(i);
        auto& row = costs.emplace_back();
        for (std::size_t k = 0; k < objectives.size(); ++k)
            row.push_back(costOf(trials[i], objectives, k));
    }
    std::vector<std::size_t> front = paretoFront(costs);
    for (std::size_t& index : front)
        index = members[index];
    return front;
}

} // namespace tunesmith
