// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include <cstdint>
#include <span>

namespace tunesmith {

struct PairedOptions {
    double quantile = 0.05; // raised in small samples so that at least five values lie below it
    double confidence = 0.95;
    int resamples = 1000;
    std::uint64_t seed = 1; // same samples and seed, same interval
};

// time of B / time of A, each as a low quantile: below 1 when B is faster.
struct PairedRatio {
    std::size_t pairs = 0;
    double quantile = 0;       // the one that was used
    double lowA = 0, lowB = 0; // in the unit of the samples
    double ratio = 1, ratioLow = 1, ratioHigh = 1;
};

inline constexpr std::size_t kMinimumPairs = 20; // below it a low quantile has no interval worth showing

// a[i] and b[i] are the times of two short blocks measured one right after the other (A B A B …, or A B B A),
// so that both series live through the same episodes of the machine. The interval is a percentile interval of
// a moving block bootstrap (Kuensch, 1989) over the pairs: neighbours in time share an episode and are
// resampled together. Errors: different lengths, fewer than kMinimumPairs, a time that is not finite and
// positive.
Result<PairedRatio> comparePaired(std::span<const double> a, std::span<const double> b,
                                  const PairedOptions& options = {});

// Two series that were *not* interleaved, such as two stored runs. Each is resampled by itself, and the
// interval is widened by kSeparateSpread on both sides because the low quantiles of two runs differ by that
// much without any cause. `pairs` is the length of the shorter series.
inline constexpr double kSeparateSpread = 0.03;
Result<PairedRatio> compareSeparate(std::span<const double> a, std::span<const double> b,
                                    const PairedOptions& options = {});

} // namespace tunesmith
