// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstdint>

namespace tunesmith {

// xoshiro256** (Blackman and Vigna, 2018), seeded through SplitMix64. Our own because std::distributions differ between
// standard libraries and a trail must repeat everywhere. Not for secrets. Copy it to fork a reproducible stream.
class Rng {
public:
    explicit Rng(std::uint64_t seed);

    std::uint64_t next();
    std::uint64_t below(std::uint64_t bound);    // uniform in [0, bound), unbiased; bound > 0
    double uniform();                            // [0, 1)
    float uniform(float low, float high);        // [low, high)
    double normal();                             // mean 0, variance 1
    bool chance(double probability) { return uniform() < probability; }

    std::array<std::uint64_t, 4> state() const { return state_; }
    void setState(const std::array<std::uint64_t, 4>& state) { state_ = state; }

private:
    std::array<std::uint64_t, 4> state_;
};

} // namespace tunesmith
