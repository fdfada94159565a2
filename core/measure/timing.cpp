// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/timing.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "core/stats/quantiles.h"
#include "core/stats/stability.h"

namespace tunesmith {
namespace {

using Clock = std::chrono::steady_clock;

double msSince(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double timeRepeated(const std::function<void()>& call, int repeats) {
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i)
        call();
    return msSince(start) / repeats;
}

// Also the warm-up.
int repeatsFor(const std::function<void()>& call, double sampleMs) {
    const double once = std::min(timeRepeated(call, 1), timeRepeated(call, 1));
    if (once >= sampleMs)
        return 1;
    const int guess = static_cast<int>(std::ceil(sampleMs / std::max(once, 1e-5)));
    const double settled = timeRepeated(call, guess); // the first calls of a tiny kernel are mostly clock and cold branches
    return std::max(1, static_cast<int>(std::ceil(sampleMs / std::max(settled, 1e-6))));
}

class Rounds {
public:
    Rounds(const std::function<void()>& call, const TimingLimits& limits, SpeedProbe& probe)
        : call_(call), limits_(limits), probe_(probe), repeats_(repeatsFor(call, limits.sampleMs)) {}

    Timing run() {
        while (!done())
            round();
        timing_.lowMs = lowQuantile(timing_.samples);
        timing_.disturbed = fastMs_ == 0;
        timing_.spentMs = spentMs_;
        return std::move(timing_);
    }

private:
    void round() {
        constexpr double kRoundMs = 4;
        constexpr std::size_t kMostSamples = 2000; // of a round; and of a blob in the store
        const bool before = probe_.fast();
        const auto start = Clock::now();
        const std::size_t first = timing_.samples.size();
        do
            timing_.samples.push_back(static_cast<float>(timeRepeated(call_, repeats_)));
        while (msSince(start) < kRoundMs && timing_.samples.size() - first < kMostSamples);
        const double took = msSince(start);
        spentMs_ += took;
        const auto fresh = std::span(timing_.samples).subspan(first);
        if (limits_.incumbentMs && *std::ranges::min_element(fresh) > 2 * *limits_.incumbentMs)
            ++hopelessRounds_;
        if (probe_.fast() && before)
            fastMs_ += took;
        else if (explainable() && spentMs_ >= limits_.measureMs / 2)
            std::this_thread::sleep_for(std::chrono::milliseconds(3)); // a slow episode may end meanwhile
    }

    // Is the candidate behind, by no more than a slow episode can do?
    bool explainable() const {
        if (!limits_.incumbentMs)
            return true;
        const double low = lowQuantile(timing_.samples);
        return low > *limits_.incumbentMs && low < kSlowMode * *limits_.incumbentMs;
    }

    bool done() {
        constexpr double kClearlyBehind = 1.3;
        if (timing_.samples.empty())
            return false;
        timing_.hopeless = hopelessRounds_ >= 2;
        if (timing_.hopeless)
            return true;
        const std::size_t count = timing_.samples.size();
        if (count < limits_.minSamples)
            return false;
        if (msSince(begun_) > 1e3 * limits_.maxSeconds)
            return true;
        if (fastMs_ == 0) // not once at full speed: is it worth waiting?
            return spentMs_ >= (explainable() ? 2 : 1) * limits_.measureMs;
        if (limits_.incumbentMs && lowQuantile(timing_.samples) > kClearlyBehind * *limits_.incumbentMs)
            return true;
        return fastMs_ >= limits_.measureMs || spentMs_ >= 2 * limits_.measureMs || stable();
    }

    bool stable() const {
        const std::vector<double> seconds(timing_.samples.begin(), timing_.samples.end());
        StabilityOptions options;
        options.tolerance = 0.01;
        options.minSamples = 2 * limits_.minSamples;
        options.minTotal = limits_.measureMs / 2 / repeats_; // both in ms here; samples are means of `repeats_` calls
        return lowQuantileStable(seconds, options);
    }

    const std::function<void()>& call_;
    const TimingLimits& limits_;
    SpeedProbe& probe_;
    Clock::time_point begun_ = Clock::now();
    int repeats_;
    Timing timing_;
    double spentMs_ = 0, fastMs_ = 0;
    int hopelessRounds_ = 0;
};

} // namespace

double lowQuantile(std::span<const float> samples) {
    assert(!samples.empty());
    std::vector<double> values(samples.begin(), samples.end());
    return quantileInPlace(values, 0.05);
}

Timing timeCalls(const std::function<void()>& call, const TimingLimits& limits, SpeedProbe& probe) {
    return Rounds(call, limits, probe).run();
}

namespace {

// Blocks of a candidate and of a reference in turns. Each pair of neighbours gives a ratio; their median is not moved by
// an episode that begins or ends between two neighbours. Where most of the reference's blocks were disturbed, the median would
// make the candidate faster than it can be: the least times of both, which disturbances only ever raise, are its lower bound.
class PairedBlocks {
public:
    PairedBlocks(const std::function<void()>& call, const std::function<void()>& reference, double sampleMs)
        : call_(call), reference_(reference), repeats_(repeatsFor(call, sampleMs)), referenceRepeats_(repeatsFor(reference, sampleMs)) {}

    void pair() {
        const auto start = Clock::now();
        const std::vector<float> own = block(call_, repeats_);
        spentMs_ += msSince(start);
        const double low = lowQuantile(own), referenceLow = lowQuantile(block(reference_, referenceRepeats_));
        ratios_.push_back(low / referenceLow);
        least_ = std::min(least_, low);
        leastReference_ = std::min(leastReference_, referenceLow);
        samples_.insert(samples_.end(), own.begin(), own.end());
    }

    std::size_t pairs() const { return ratios_.size(); }
    double leastRatio() const { return *std::ranges::min_element(ratios_); }
    double ratio() const {
        std::vector<double> sorted = ratios_;
        return std::max(quantileInPlace(sorted, 0.5), least_ / leastReference_);
    }
    double spentMs() const { return spentMs_; } // on the candidate
    const std::vector<float>& samples() const { return samples_; }

private:
    static std::vector<float> block(const std::function<void()>& call, int repeats) {
        constexpr double kBlockMs = 2;
        std::vector<float> samples;
        call(); // the other kernel was here
        const auto start = Clock::now();
        do
            samples.push_back(static_cast<float>(timeRepeated(call, repeats)));
        while (msSince(start) < kBlockMs);
        return samples;
    }

    const std::function<void()>&call_, &reference_;
    int repeats_, referenceRepeats_;
    std::vector<double> ratios_;
    std::vector<float> samples_;
    double spentMs_ = 0;
    double least_ = std::numeric_limits<double>::infinity(), leastReference_ = least_; // ms
};

// Whether more pairs would not change what is said of the candidate.
bool isDecided(const PairedBlocks& blocks, double referenceMs, const TimingLimits& limits) {
    constexpr double kClearlyBehind = 1.3, kBehind = 1.1;
    if (blocks.pairs() < 3 || blocks.samples().size() < limits.minSamples)
        return false;
    const double behind = limits.incumbentMs ? blocks.ratio() * referenceMs / *limits.incumbentMs : 0;
    return behind > kClearlyBehind || (behind > kBehind && blocks.spentMs() > limits.measureMs / 2) ||
           blocks.spentMs() >= limits.measureMs;
}

} // namespace

RelativeTiming timeBeside(const std::function<void()>& call, const std::function<void()>& reference, double referenceMs,
                          const TimingLimits& limits) {
    constexpr double kHopeless = 2;
    PairedBlocks blocks(call, reference, limits.sampleMs);
    RelativeTiming timing;
    const auto start = Clock::now();
    do {
        blocks.pair();
        timing.hopeless = blocks.pairs() >= 2 && limits.incumbentMs && blocks.leastRatio() * referenceMs > kHopeless * *limits.incumbentMs;
    } while (!timing.hopeless && !isDecided(blocks, referenceMs, limits) && msSince(start) < 1e3 * limits.maxSeconds);
    const auto scale = static_cast<float>(blocks.ratio() * referenceMs / lowQuantile(blocks.samples()));
    for (const float sample : blocks.samples())
        timing.samples.push_back(sample * scale);
    return timing;
}

std::vector<std::vector<float>> timeInterleaved(std::span<const std::function<void()>> calls, double measureMs,
                                                std::size_t minRounds, double sampleMs) {
    std::vector<int> repeats;
    for (const auto& call : calls)
        repeats.push_back(repeatsFor(call, sampleMs));
    std::vector<std::vector<float>> samples(calls.size());
    const auto start = Clock::now();
    for (std::size_t round = 0; round < minRounds || msSince(start) < measureMs; ++round)
        for (std::size_t i = 0; i < calls.size(); ++i)
            samples[i].push_back(static_cast<float>(timeRepeated(calls[i], repeats[i])));
    return samples;
}

} // namespace tunesmith
