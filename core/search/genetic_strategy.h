// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/search/strategy.h"

namespace tunesmith {

struct GeneticOptions { // Tensor Comprehensions' defaults
    std::size_t population = 100;
    double crossover = 0.8;  // share of children with three parents; the others have one
    double mutation = 0.07;  // of each choice of a child
    std::size_t elites = 10; // the best of all, parents in every generation; at most half the population
};

// The genetic search of Tensor Comprehensions (Vasilache et al., 2018): parents are drawn by a roulette on
// 1 / cost, a child takes every choice from one of three parents, then mutates by steps to neighbours. The
// first population is random. Outcomes come later than proposals, so a generation breeds from what is known
// when it begins: the elites and the latest trials that fill up a population. A generation without three
// parents is drawn at random. Spaces without choices cross as they can, or not at all.
std::unique_ptr<Strategy> makeGenetic(const Space& space, std::uint64_t seed, TrialCost cost = {},
                                      GeneticOptions options = {});

} // namespace tunesmith
