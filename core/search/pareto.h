// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/search/problem.h"

namespace tunesmith {

// With several objectives there is no best trial but a front of those that no other one beats. Costs: lower
// is better.
bool dominates(std::span<const double> a, std::span<const double> b); // nowhere worse, somewhere better

// Indices of the points that none dominates, sorted by their first cost; of equal points the first one.
// O(n^2).
std::vector<std::size_t> paretoFront(std::span<const std::vector<double>> costs);

// The front of the ok trials, as indices into `trials`.
std::vector<std::size_t> paretoFront(std::span<const Trial> trials,
                                     std::span<const ObjectiveInfo> objectives);

} // namespace tunesmith
