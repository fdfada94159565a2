// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <span>

namespace tunesmith {

struct StabilityOptions {
    double quantile = 0.05;
    double tolerance = 0.02; // relative difference of the low quantiles of the two halves
    std::size_t minSamples = 20;
    double minTotal = 0.02; // sum of the samples (seconds): shorter than that is one episode, fast or slow
};

// Were enough samples taken? Yes when the low quantile of the first half of the series (in the order of
// measuring) and that of the second agree. A slow episode that begins or ends on the way therefore prolongs
// the measurement; one that covers all of it cannot be seen from inside: whoever rejects a candidate as slow
// measures it again first. False for times that are not finite and positive.
bool lowQuantileStable(std::span<const double> samples, const StabilityOptions& options = {});

} // namespace tunesmith
