// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/measure/speed_probe.h"

namespace tunesmith {

struct TimingLimits {
    std::optional<double> incumbentMs; // low quantile of the best so far; what is clearly worse gets less attention
    double measureMs = 20;             // of samples in an undisturbed measurement
    double maxSeconds = 10;            // wall clock; the least number of samples is taken all the same
    std::size_t minSamples = 5;
    double sampleMs = 0.02; // short kernels are called several times per sample
};

struct Timing {
    std::vector<float> samples; // ms of one call, in the order of measuring
    double lowMs = 0;           // their p5
    double spentMs = 0;         // on taking them
    bool hopeless = false;      // given up early: over twice the incumbent, twice
    bool disturbed = false;     // no part of it ran while the machine was at full speed
};

// Times calls of a kernel that was run before (its caches are warm, its pages are there). Samples are taken in rounds of a
// few milliseconds with a speed probe on either side. A round beside a slow probe does not end the measurement while the
// slow mode alone could explain why the candidate lost (kSlowMode); the samples of all rounds are kept, their low quantile
// counts.
Timing timeCalls(const std::function<void()>& call, const TimingLimits& limits, SpeedProbe& probe);

// A candidate and a reference, whose time is known, in blocks of a few milliseconds that take turns. Both live through the
// same episodes, so their ratio times the reference's known time holds whatever the machine does meanwhile.
struct RelativeTiming {
    std::vector<float> samples; // of the candidate: ms of one call, at the machine's speed when the reference's time was taken
    bool hopeless = false;      // given up early: over twice the incumbent
};
RelativeTiming timeBeside(const std::function<void()>& call, const std::function<void()>& reference, double referenceMs,
                          const TimingLimits& limits);

// Candidates in turns, A B C A B C ..., so that all live through the same episodes. ms per call of each.
std::vector<std::vector<float>> timeInterleaved(std::span<const std::function<void()>> calls, double measureMs,
                                                std::size_t minRounds, double sampleMs = 0.02);

inline constexpr double kSlowMode = 1.75;

inline constexpr double kLeastCallSeconds = 0.5e-9; // of one call: no clock tells less, so a smaller time is a made-up one

double lowQuantile(std::span<const float> samples); // p5; samples are finite and not empty

} // namespace tunesmith
