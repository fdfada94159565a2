// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/quantiles.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace tunesmith {
namespace {

double sortedQuantile(std::span<const double> sorted, double q) {
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(position), sorted.size() - 1);
    const auto above = std::min(below + 1, sorted.size() - 1);
    const double fraction = position - static_cast<double>(below);
    return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

} // namespace

bool allFinite(std::span<const double> samples) {
    return std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x); });
}

double quantileInPlace(std::span<double> samples, double q) {
    assert(!samples.empty() && q >= 0 && q <= 1);
    const double position = q * static_cast<double>(samples.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(position), samples.size() - 1);
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(below);
    std::nth_element(samples.begin(), middle, samples.end());
    if (below + 1 == samples.size())
        return *middle;
    const double above = *std::min_element(middle + 1, samples.end());
    return *middle + (position - static_cast<double>(below)) * (above - *middle);
}

std::optional<double> quantile(std::span<const double> samples, double q) {
    if (samples.empty() || !allFinite(samples) || !(q >= 0 && q <= 1))
        return std::nullopt;
    std::vector<double> copy(samples.begin(), samples.end());
    return quantileInPlace(copy, q);
}

std::optional<Quantiles> quantilesOf(std::span<const double> samples) {
    if (samples.empty() || !allFinite(samples))
        return std::nullopt;
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    Quantiles result;
    result.count = sorted.size();
    result.minimum = sorted.front();
    result.p1 = sortedQuantile(sorted, 0.01);
    result.p5 = sortedQuantile(sorted, 0.05);
    result.median = sortedQuantile(sorted, 0.5);
    result.p95 = sortedQuantile(sorted, 0.95);
    return result;
}

} // namespace tunesmith
