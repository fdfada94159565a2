// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/fitness.h"

#include <algorithm>
#include <limits>

namespace tunesmith {

std::vector<double> fitnessOf(std::span<const std::optional<double>> costs) {
    double best = std::numeric_limits<double>::infinity();
    double worst = -best;
    for (const auto& cost : costs) {
        if (cost) {
            best = std::min(best, *cost);
            worst = std::max(worst, *cost);
        }
    }
    std::vector<double> out;
    for (const auto& cost : costs) {
        double fitness = 0;
        if (cost && best > 0)
            fitness = best / *cost;
        else if (cost)
            fitness = worst > best ? 0.1 + 0.9 * (worst - *cost) / (worst - best) : 1.0;
        out.push_back(fitness);
    }
    return out;
}

} // namespace tunesmith
