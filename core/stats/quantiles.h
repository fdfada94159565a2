// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <optional>
#include <span>

namespace tunesmith {

// On a shared machine the run time of a kernel has two modes: fast, and about 1.75 times slower for episodes
// of 10 ms to 24 s that nothing announces. Means and medians then measure the neighbours; low quantiles (p1
// to p5) repeat to 1 to 4 %.
struct Quantiles {
    std::size_t count = 0;
    double minimum = 0, p1 = 0, p5 = 0, median = 0, p95 = 0;
};

// Nothing for an empty sample and for one that holds NaN or an infinity. Linear interpolation between order
// statistics (type 7 of Hyndman and Fan, 1996). 0 <= q <= 1.
std::optional<double> quantile(std::span<const double> samples, double q);
std::optional<Quantiles> quantilesOf(std::span<const double> samples);

bool allFinite(std::span<const double> samples);

// For loops that need many quantiles: sorts parts of `samples` in place, which must be finite and not empty.
double quantileInPlace(std::span<double> samples, double q);

} // namespace tunesmith
