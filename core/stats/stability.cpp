// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/stability.h"
#include "core/stats/quantiles.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace tunesmith {

bool lowQuantileStable(std::span<const double> samples, const StabilityOptions& options) {
    if (samples.size() < std::max<std::size_t>(options.minSamples, 2))
        return false;
    if (std::accumulate(samples.begin(), samples.end(), 0.0) < options.minTotal)
        return false;
    const std::size_t half = samples.size() / 2;
    const auto first = quantile(samples.first(half), options.quantile);
    const auto second = quantile(samples.subspan(half), options.quantile);
    if (!first || !second || *first <= 0 || *second <= 0)
        return false;
    return std::fabs(*first - *second) <= options.tolerance * std::min(*first, *second);
}

} // namespace tunesmith
