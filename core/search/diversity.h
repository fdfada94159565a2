// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/search/annealer.h"

namespace tunesmith {

// Takes `count` of a pool one after the other, each the one with the highest score less `weight` standard
// deviations of the scores times its likeness to the nearest one taken (the share of equal features): a batch
// of near copies would teach the model little. weight 0 takes the best.
std::vector<ScoredConfig> pickDiverse(const Space& space, std::vector<ScoredConfig> pool, std::size_t count,
                                      double weight);

} // namespace tunesmith
