// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/search/strategy.h"

namespace tunesmith {

struct AnnealingOptions {
    std::size_t chains = 4;
    double hot = 0.2;        // at this temperature a config that is 20 % slower is accepted with 1/e ...
    double cold = 0.01;      // ... and at this one 1 % slower
    std::size_t sweep = 100; // trials from hot to cold; then again from hot, every second chain from the best
};

// Simulated annealing on measured trials (Kirkpatrick et al., Science 1983), without a model: several chains
// take turns; a step goes to a neighbour and is kept when it is better, or, while it is hot, not much worse.
// Steps to what is known already cost no trial. A chain that finds nothing new around itself starts again at
// random.
std::unique_ptr<Strategy> makeAnnealing(const Space& space, std::uint64_t seed, TrialCost cost = {},
                                        AnnealingOptions options = {});

} // namespace tunesmith
