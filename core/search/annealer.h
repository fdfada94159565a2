// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/search/space.h"

namespace tunesmith {

struct ScoredConfig {
    Config config;
    std::uint64_t hash = 0; // the space's
    float score = 0;
};

struct AnnealOptions {
    std::size_t chains = 128;
    std::size_t steps = 500;
    std::size_t patience = 60;       // ends early after so many steps without a change among the best
    std::uint64_t exhaustive = 4096; // indexed spaces up to this many indices are scored whole instead
};

// Finds the configs with the highest score by parallel simulated annealing (as AutoTVM's sa_model_optimizer:
// linear cooling from 1 to 0, accept with exp((new - old) / temperature)). All chains move at once so that
// scores are asked for in batches; a config is scored once only.
class Annealer {
public:
    using Score = std::function<std::vector<float>(std::span<const Config>)>;
    using Exclude = std::function<bool(std::uint64_t hash)>;

    Annealer(const Space& space, AnnealOptions options) : space_(space), options_(options) {}

    // The best `keep` configs that are not excluded, best first. `chains` is where the chains start and is
    // left where they ended; missing ones start at random.
    std::vector<ScoredConfig> best(const Score& score, const Exclude& exclude, std::size_t keep,
                                   std::vector<Config>& chains, Rng& rng) const;

private:
    const Space& space_;
    AnnealOptions options_;
};

} // namespace tunesmith
