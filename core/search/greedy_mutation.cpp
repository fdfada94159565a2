// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "core/search/bandit_technique.h"

namespace tunesmith {
namespace {

constexpr int kMutations = 32; // until a mutant is allowed and new
constexpr double kUniformRate = 0.1;
constexpr double kNormalRate = 0.3;
constexpr double kDeviation = 0.1; // of the normal one, in shares of a choice's range

// Into [0, 1] as by mirrors at both ends.
double mirrored(double x) {
    const double folded = std::fmod(std::abs(x), 2.0);
    return folded > 1 ? 2 - folded : folded;
}

// Changes some numbers of the best config: each with the rate, and one in any case.
class GreedyMutation final : public Technique {
public:
    explicit GreedyMutation(bool normal) : normal_(normal) {}

    std::optional<Config> pick(const TechniqueView& view) override {
        const MeasuredConfig* best = view.measured.best();
        if (!best || view.cube.dimensions() == 0)
            return std::nullopt;
        const UnitCube::Point from = view.cube.pointOf(best->config);
        for (int i = 0; i < kMutations; ++i)
            if (auto config = view.cube.configAt(mutated(from, view.rng));
                config && view.fresh(view.space.hash(*config)))
                return config;
        return std::nullopt;
    }

private:
    UnitCube::Point mutated(UnitCube::Point point, Rng& rng) const {
        const std::size_t must = rng.below(point.size());
        for (std::size_t d = 0; d < point.size(); ++d)
            if (d == must || rng.chance(normal_ ? kNormalRate : kUniformRate))
                point[d] = normal_ ? mirrored(point[d] + kDeviation * rng.normal()) : rng.uniform();
        return point;
    }

    bool normal_;
};

} // namespace

std::unique_ptr<Technique> makeUniformMutation() {
    return std::make_unique<GreedyMutation>(false);
}

std::unique_ptr<Technique> makeNormalMutation() {
    return std::make_unique<GreedyMutation>(true);
}

} // namespace tunesmith
