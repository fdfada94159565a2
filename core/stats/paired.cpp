// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/paired.h"
#include "core/base/rng.h"
#include "core/stats/quantiles.h"
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tunesmith {
namespace {

constexpr double kValuesBelow = 5;

Status checkTimes(std::span<const double> times, const char* name) {
    for (std::size_t i = 0; i < times.size(); ++i)
        if (!std::isfinite(times[i]) || times[i] <= 0)
            return inputError("time " + std::to_string(i) + " of series " + name + " is " +
                              std::to_string(times[i]) + " and cannot be compared");
    if (times.size() < kMinimumPairs)
        return inputError("series " + std::string(name) + " has " + std::to_string(times.size()) +
                          " times; " + std::to_string(kMinimumPairs) + " are needed to compare");
    return {};
}

double usedQuantile(double asked, std::size_t count) {
    return std::clamp(std::max(asked, kValuesBelow / static_cast<double>(count)), 0.0, 1.0);
}

double lowOf(std::span<const double> samples, double q) {
    std::vector<double> copy(samples.begin(), samples.end());
    return quantileInPlace(copy, q);
}

// Start positions of blocks of consecutive samples, as many as are needed to draw `count` samples anew. The
// series is taken as a circle so that its ends are drawn as often as its middle.
class BlockBootstrap {
public:
    explicit BlockBootstrap(std::size_t count)
        : count_(count),
          block_(std::max<std::size_t>(1, static_cast<std::size_t>(std::cbrt(double(count))))) {}

    std::size_t count() const { return count_; }
    void draw(Rng& rng) {
        starts_.clear();
        for (std::size_t drawn = 0; drawn < count_; drawn += block_)
            starts_.push_back(rng.below(count_));
    }
    double low(std::span<const double> samples, double q) {
        values_.clear();
        for (const std::size_t start : starts_)
            for (std::size_t i = 0; i < block_ && values_.size() < count_; ++i)
                values_.push_back(samples[(start + i) % count_]);
        return quantileInPlace(values_, q);
    }

private:
    std::size_t count_, block_;
    std::vector<std::size_t> starts_;
    std::vector<double> values_;
};

PairedRatio pointEstimate(std::span<const double> a, std::span<const double> b,
                          const PairedOptions& options) {
    PairedRatio result;
    result.pairs = std::min(a.size(), b.size());
    result.quantile = usedQuantile(options.quantile, result.pairs);
    result.lowA = lowOf(a, result.quantile);
    result.lowB = lowOf(b, result.quantile);
    result.ratio = result.lowB / result.lowA;
    return result;
}

void setInterval(PairedRatio& result, std::vector<double> ratios, double confidence) {
    const double tail = (1 - confidence) / 2;
    result.ratioLow = std::min(result.ratio, quantileInPlace(ratios, tail));
    result.ratioHigh = std::max(result.ratio, quantileInPlace(ratios, 1 - tail));
}

Status checkOptions(const PairedOptions& options) {
    if (!(options.quantile >= 0 && options.quantile <= 1) ||
        !(options.confidence > 0 && options.confidence < 1) || options.resamples < 100)
        return inputError(
            "a comparison needs a quantile and a confidence between 0 and 1 and at least 100 resamples");
    return {};
}

} // namespace

Result<PairedRatio> comparePaired(std::span<const double> a, std::span<const double> b,
                                  const PairedOptions& options) {
    if (a.size() != b.size())
        return inputError("the series differ in length (" + std::to_string(a.size()) + " and " +
                          std::to_string(b.size()) + "); interleaved measurements come in pairs");
    TS_TRY(checkOptions(options));
    TS_TRY(checkTimes(a, "A"));
    TS_TRY(checkTimes(b, "B"));
    PairedRatio result = pointEstimate(a, b, options);
    Rng rng(options.seed);
    BlockBootstrap bootstrap(a.size());
    std::vector<double> ratios;
    for (int i = 0; i < options.resamples; ++i) {
        bootstrap.draw(rng);
        ratios.push_back(bootstrap.low(b, result.quantile) / bootstrap.low(a, result.quantile));
    }
    setInterval(result, std::move(ratios), options.confidence);
    return result;
}

Result<PairedRatio> compareSeparate(std::span<const double> a, std::span<const double> b,
                                    const PairedOptions& options) {
    TS_TRY(checkOptions(options));
    TS_TRY(checkTimes(a, "A"));
    TS_TRY(checkTimes(b, "B"));
    PairedRatio result = pointEstimate(a, b, options);
    Rng rng(options.seed);
    BlockBootstrap bootstrapA(a.size()), bootstrapB(b.size());
    std::vector<double> ratios;
    for (int i = 0; i < options.resamples; ++i) {
        bootstrapA.draw(rng);
        bootstrapB.draw(rng);
        ratios.push_back(bootstrapB.low(b, result.quantile) / bootstrapA.low(a, result.quantile));
    }
    setInterval(result, std::move(ratios), options.confidence);
    result.ratioLow /= 1 + kSeparateSpread;
    result.ratioHigh *= 1 + kSeparateSpread;
    return result;
}

} // namespace tunesmith
