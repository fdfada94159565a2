// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/search/strategy.h"

namespace tunesmith {

struct BanditOptions { // OpenTuner's
    double exploration = 0.05;
    std::size_t window = 500; // trials that credit is given for
};

// OpenTuner's default ensemble, AUCBanditMetaTechniqueA (Ansel et al., PACT 2014): differential evolution,
// uniform and normal mutation of the best config and a Nelder-Mead simplex compete for every trial; a bandit
// prefers those that found new bests lately. All of them see what any of them measured. Refuses a space
// without choices.
Result<std::unique_ptr<Strategy>> makeBandit(const Space& space, std::uint64_t seed, TrialCost cost = {},
                                             BanditOptions options = {});

} // namespace tunesmith
