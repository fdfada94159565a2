// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/rng.h"
#include "core/search/config.h"
#include "core/search/feature_matrix.h"

namespace tunesmith {

// Optional ability: every config has an integer index. Indices in [0, indexCount()) that a filter forbids
// have no config.
class IndexedSpace {
public:
    virtual ~IndexedSpace() = default;
    virtual std::uint64_t indexCount() const = 0;
    virtual std::optional<Config> at(std::uint64_t index) const = 0;
    virtual std::uint64_t indexOf(const Config& config) const = 0; // config must be valid
};

// Optional ability: two parents make a child that is valid.
class CrossoverSpace {
public:
    virtual ~CrossoverSpace() = default;
    virtual Config cross(const Config& mother, const Config& father, Rng& rng) const = 0;
};

// Optional ability: a config is nothing but its choices, choice i a whole number in [0, radices()[i]), in an
// order in which neighbouring values are alike (growing tiles, say). Which of them are allowed together,
// validate() says.
class ChoiceSpace {
public:
    virtual ~ChoiceSpace() = default;
    virtual std::vector<std::uint64_t> radices() const = 0;
};

// What can be tried. Everything that strategies need and nothing that they should not know, so that a
// template with 900 integer points and a tree of ten thousand inlining decisions are searched by the same
// code. Implementations are immutable: all members may be called from any thread, randomness comes from the
// caller's Rng.
class Space {
public:
    virtual ~Space() = default;

    virtual std::string name() const = 0;
    virtual std::optional<double> size() const = 0; // number of configs; none when it cannot be counted

    virtual Config sample(Rng& rng) const = 0; // a valid one
    virtual Config neighbour(const Config& config,
                             Rng& rng) const = 0; // a valid one, a small step away if there is one
    virtual Config canonical(const Config& config) const {
        return config;
    }                                                        // one form for configs that mean the same
    virtual Status validate(const Config& config) const = 0; // why it is no member of this space
    virtual std::uint64_t hash(const Config& config) const { return canonical(config).hash(); }

    // Configs that deserve to be tried before anything is known, e.g. the untuned default. All valid.
    virtual std::vector<Config> startingPoints() const { return {}; }

    // One row per config; the number of columns is the same for every batch. Batched because that is what
    // costs.
    virtual int featureVersion() const = 0;
    virtual FeatureMatrix features(std::span<const Config> configs) const = 0;

    virtual std::string describe(const Config& config) const = 0; // for people, one line

    // Abilities, null where the space does not have them.
    virtual const IndexedSpace* indexed() const { return nullptr; }
    virtual const CrossoverSpace* crossover() const { return nullptr; }
    virtual const ChoiceSpace* choices() const { return nullptr; }
};

// A config out of a store or a saved state, which may be of another space or no config at all: all else here takes only its own.
inline Result<Config> parseConfig(std::string_view text, const Space& space) {
    TS_ASSIGN(Config config, Config::parse(text));
    TS_TRY(space.validate(config));
    return config;
}

} // namespace tunesmith
