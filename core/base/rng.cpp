// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/rng.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace tunesmith {

Rng::Rng(std::uint64_t seed) {
    for (auto& word : state_) {
        seed += 0x9e3779b97f4a7c15ull;
        std::uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        word = z ^ (z >> 31);
    }
}

std::uint64_t Rng::next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
    const std::uint64_t limit = -bound % bound; // values under it would favour the small remainders
    std::uint64_t draw = next();
    while (draw < limit)
        draw = next();
    return draw % bound;
}

double Rng::uniform() {
    return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

float Rng::uniform(float low, float high) {
    const float draw = low + (high - low) * static_cast<float>(next() >> 40) * 0x1.0p-24f;
    return draw < high ? draw : std::nextafter(high, low); // the sum may have been rounded up to the open end
}

double Rng::normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

} // namespace tunesmith
