// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/stats/verdict.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tunesmith {
namespace {

constexpr double kMostMore = 100000;

std::string number(double value, int decimals) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

// "3 to 5", "3.2 to 3.9", "about 4"
std::string range(double low, double high, int decimals) {
    const std::string from = number(low, decimals), to = number(high, decimals);
    return from == to ? "about " + from : from + " to " + to;
}

// gainLow and gainHigh: how many times as fast (or slow), both at least 1.
std::string sizeText(double gainLow, double gainHigh, const char* comparative, const char* positive) {
    if (gainLow >= 2)
        return range(gainLow, gainHigh, gainHigh < 10 ? 1 : 0) + " times as " + positive;
    const double low = (gainLow - 1) * 100, high = (gainHigh - 1) * 100;
    const int decimals = high - low < 1 || low < 1 ? 1 : 0;
    return range(low, high, decimals) + " % " + comparative;
}

// Intervals shrink with the square root of the sample: how many pairs make this one clear of 1, or put it
// within the tolerance. Rounded up to two digits: it is an estimate.
std::size_t pairsNeeded(const PairedRatio& ratio, double tolerance) {
    const double half = std::log(ratio.ratioHigh / ratio.ratioLow) / 2;
    const double distance = std::fabs(std::log(ratio.ratio));
    const double target =
        std::max({std::fabs(std::log1p(tolerance) - distance), distance, tolerance / 2}) / 1.2;
    const auto count = static_cast<double>(ratio.pairs);
    const double more = std::clamp(count * ((half / target) * (half / target) - 1), count / 4, kMostMore);
    const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(std::max(more, 1.0))) - 1));
    return static_cast<std::size_t>(std::ceil(more / unit) * unit);
}

std::string cannotTellText(std::size_t more) {
    return "cannot tell, measure " + std::to_string(more) + " more";
}

} // namespace

const char* verdictName(VerdictKind kind) {
    switch (kind) {
    case VerdictKind::faster:
        return "faster";
    case VerdictKind::slower:
        return "slower";
    case VerdictKind::same:
        return "same";
    case VerdictKind::cannotTell:
        break;
    }
    return "cannot-tell";
}

Verdict judge(const PairedRatio& ratio, const VerdictOptions& options) {
    Verdict verdict{VerdictKind::cannotTell, ratio.ratio, ratio.ratioLow, ratio.ratioHigh, 0, {}};
    const std::string start = options.nameB + " is ";
    if (ratio.ratioLow >= 1 / (1 + options.tolerance) && ratio.ratioHigh <= 1 + options.tolerance) {
        verdict.kind = VerdictKind::same;
        verdict.text = options.nameA + " and " + options.nameB + " are equally fast within " +
                       number(options.tolerance * 100, options.tolerance < 0.01 ? 1 : 0) + " %";
    } else if (ratio.ratioHigh < 1) {
        verdict.kind = VerdictKind::faster;
        verdict.text = start + sizeText(1 / ratio.ratioHigh, 1 / ratio.ratioLow, "faster", "fast");
    } else if (ratio.ratioLow > 1) {
        verdict.kind = VerdictKind::slower;
        verdict.text = start + sizeText(ratio.ratioLow, ratio.ratioHigh, "slower", "slow");
    } else {
        verdict.more = pairsNeeded(ratio, options.tolerance);
        verdict.text = cannotTellText(verdict.more);
    }
    return verdict;
}

Result<Verdict> judgePaired(std::span<const double> a, std::span<const double> b, const PairedOptions& paired,
                            const VerdictOptions& options) {
    if (a.size() == b.size() && a.size() < kMinimumPairs) {
        Verdict verdict;
        verdict.ratio = 0;
        verdict.more = kMinimumPairs - a.size();
        verdict.text = cannotTellText(verdict.more);
        return verdict;
    }
    TS_ASSIGN(const PairedRatio ratio, comparePaired(a, b, paired));
    return judge(ratio, options);
}

} // namespace tunesmith
