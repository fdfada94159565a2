// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/search/space.h"

namespace tunesmith {

// A space with starting points of its own; everything else is the borrowed space's.
class StartedSpace final : public Space {
public:
    StartedSpace(const Space& space, std::vector<Config> starts) : space_(space), starts_(std::move(starts)) {}

    std::vector<Config> startingPoints() const override { return starts_; }

    std::string name() const override { return space_.name(); }
    std::optional<double> size() const override { return space_.size(); }
    Config sample(Rng& rng) const override { return space_.sample(rng); }
    Config neighbour(const Config& config, Rng& rng) const override { return space_.neighbour(config, rng); }
    Config canonical(const Config& config) const override { return space_.canonical(config); }
    Status validate(const Config& config) const override { return space_.validate(config); }
    std::uint64_t hash(const Config& config) const override { return space_.hash(config); }
    int featureVersion() const override { return space_.featureVersion(); }
    FeatureMatrix features(std::span<const Config> configs) const override { return space_.features(configs); }
    std::string describe(const Config& config) const override { return space_.describe(config); }
    const IndexedSpace* indexed() const override { return space_.indexed(); }
    const CrossoverSpace* crossover() const override { return space_.crossover(); }
    const ChoiceSpace* choices() const override { return space_.choices(); }

private:
    const Space& space_;
    std::vector<Config> starts_;
};

} // namespace tunesmith
