// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/measure/speed_probe.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace tunesmith {
namespace {

using Vector [[gnu::vector_size(16)]] = float;

// Eight chains keep the arithmetic ports busy, which is what a neighbour on the same core takes away.
[[gnu::noinline]] float work(int turns, float seed) {
    Vector chain[8];
    for (int i = 0; i < 8; ++i)
        chain[i] = Vector{seed, seed, seed, seed} + static_cast<float>(i);
    const Vector scale{0.999f, 0.999f, 0.999f, 0.999f};
    for (int turn = 0; turn < turns; ++turn)
        for (auto& value : chain)
            value = value * scale + scale;
    Vector sum = chain[0];
    for (int i = 1; i < 8; ++i)
        sum += chain[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

} // namespace

void SpeedProbe::probeWork() {
    static thread_local volatile float sink = 1.0f;
    sink = work(1000, sink * 1e-6f);
}

double SpeedProbe::measure() {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 3; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work_();
        const auto took = std::chrono::steady_clock::now() - start;
        least = std::min(least, std::chrono::duration<double, std::milli>(took).count());
    }
    bestMs_ = bestMs_ > 0 ? std::min(bestMs_, least) : least;
    return least;
}

bool SpeedProbe::fast() {
    const double now = measure();
    return now <= kSlack * bestMs_;
}

} // namespace tunesmith
