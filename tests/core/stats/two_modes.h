// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/rng.h"
#include <cmath>
#include <utility>
#include <vector>

namespace tunesmith::testing {

// A machine whose run times have two modes, as shared machines have: episodes of a heavy-tailed length during
// which everything takes 1.75 times as long, and a little noise that only ever adds.
class TwoModeMachine {
public:
    explicit TwoModeMachine(std::uint64_t seed, double slowShare = 0.5) : rng_(seed), slowShare_(slowShare) {}

    // One block of work that takes `seconds` on the undisturbed machine.
    double run(double seconds) {
        while (left_ <= 0)
            nextEpisode();
        const double noise =
            1 + 0.006 * std::fabs(rng_.normal()) + (rng_.chance(0.02) ? 0.3 * rng_.uniform() : 0);
        const double took = seconds * (slow_ ? 1.75 : 1.0) * noise;
        left_ -= took;
        return took;
    }
    void forceEpisode(bool slow, double seconds) {
        slow_ = slow;
        left_ = seconds;
    }

private:
    void nextEpisode() {
        slow_ = !slow_;
        const double share = slow_ ? slowShare_ : 1 - slowShare_;
        left_ = 2 * share * 0.01 / std::sqrt(1e-6 + rng_.uniform()); // 10 ms and more, a few of them seconds
    }
    Rng rng_;
    double slowShare_;
    double left_ = 0;
    bool slow_ = false;
};

using Series = std::pair<std::vector<double>, std::vector<double>>;

inline Series interleaved(TwoModeMachine& machine, double timeA, double timeB, int pairs) {
    Series result;
    for (int i = 0; i < pairs; ++i) {
        const bool swap = i % 2;
        const double first = machine.run(swap ? timeB : timeA), second = machine.run(swap ? timeA : timeB);
        result.first.push_back(swap ? second : first);
        result.second.push_back(swap ? first : second);
    }
    return result;
}

inline double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return sum / double(values.size());
}

} // namespace tunesmith::testing
