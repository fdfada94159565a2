// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cost/rank_metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

namespace tunesmith {
namespace {

struct Pairs {
    double agree = 0, disagree = 0, tiedTruth = 0, tiedScores = 0, tiedBoth = 0;
};

Pairs countPairs(std::span<const float> truth, std::span<const float> scores) {
    assert(truth.size() == scores.size());
    Pairs pairs;
    for (std::size_t i = 0; i < truth.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const int t = (truth[i] > truth[j]) - (truth[i] < truth[j]);
            const int s = (scores[i] > scores[j]) - (scores[i] < scores[j]);
            if (t == 0 && s == 0)
                ++pairs.tiedBoth;
            else if (t == 0)
                ++pairs.tiedTruth;
            else if (s == 0)
                ++pairs.tiedScores;
            else
                ++(t == s ? pairs.agree : pairs.disagree);
        }
    }
    return pairs;
}

std::vector<std::size_t> topIndices(std::span<const float> values, std::size_t count) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    order.resize(count);
    std::ranges::sort(order);
    return order;
}

} // namespace

double kendallTau(std::span<const float> truth, std::span<const float> scores) {
    const Pairs pairs = countPairs(truth, scores);
    const double untied = pairs.agree + pairs.disagree;
    const double norm = std::sqrt((untied + pairs.tiedScores) * (untied + pairs.tiedTruth));
    return norm > 0 ? (pairs.agree - pairs.disagree) / norm : 0.0;
}

double pairwiseAccuracy(std::span<const float> truth, std::span<const float> scores) {
    const Pairs pairs = countPairs(truth, scores);
    const double different = pairs.agree + pairs.disagree + pairs.tiedScores;
    return different > 0 ? (pairs.agree + pairs.tiedScores / 2) / different : 0.5;
}

double recallAtTop(std::span<const float> truth, std::span<const float> scores, std::size_t count) {
    assert(truth.size() == scores.size());
    count = std::min(count, truth.size());
    if (count == 0)
        return 1.0;
    const auto best = topIndices(truth, count);
    const auto chosen = topIndices(scores, count);
    std::vector<std::size_t> both;
    std::ranges::set_intersection(best, chosen, std::back_inserter(both));
    return static_cast<double>(both.size()) / static_cast<double>(count);
}

} // namespace tunesmith
