// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/search/diversity.h"

#include <algorithm>
#include <cmath>

namespace tunesmith {
namespace {

double deviation(const std::vector<ScoredConfig>& pool) {
    double sum = 0, squares = 0;
    for (const ScoredConfig& item : pool) {
        sum += static_cast<double>(item.score);
        squares += static_cast<double>(item.score) * static_cast<double>(item.score);
    }
    const double n = static_cast<double>(pool.size());
    return std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)));
}

double likeness(std::span<const float> a, std::span<const float> b) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        equal += a[i] == b[i];
    return a.empty() ? 0.0 : static_cast<double>(equal) / static_cast<double>(a.size());
}

FeatureMatrix featuresOf(const Space& space, const std::vector<ScoredConfig>& pool) {
    std::vector<Config> configs;
    for (const ScoredConfig& item : pool)
        configs.push_back(item.config);
    return space.features(configs);
}

} // namespace

std::vector<ScoredConfig> pickDiverse(const Space& space, std::vector<ScoredConfig> pool, std::size_t count,
                                      double weight) {
    if (weight == 0 || pool.size() < 2) {
        pool.resize(std::min(count, pool.size()));
        return pool;
    }
    const FeatureMatrix features = featuresOf(space, pool);
    const double scale = weight * deviation(pool);
    std::vector<double> nearest(pool.size(), 0.0);
    std::vector<bool> taken(pool.size(), false);
    std::vector<ScoredConfig> out;
    while (out.size() < std::min(count, pool.size())) {
        std::size_t best = pool.size();
        double bestValue = 0;
        for (std::size_t i = 0; i < pool.size(); ++i) {
            const double value = static_cast<double>(pool[i].score) - scale * nearest[i];
            if (!taken[i] && (best == pool.size() || value > bestValue)) {
                best = i;
                bestValue = value;
            }
        }
        taken[best] = true;
        out.push_back(pool[best]);
        for (std::size_t i = 0; i < pool.size(); ++i)
            nearest[i] = std::max(nearest[i], likeness(features.row(i), features.row(best)));
    }
    return out;
}

} // namespace tunesmith
