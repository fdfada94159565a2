// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <span>
#include <vector>

namespace tunesmith {

// How good each cost is, within these: best cost / cost (1 for the best); where costs are not all positive,
// the place of the cost between worst (0.1) and best (1). No cost, a failure: 0. Costs are finite.
std::vector<double> fitnessOf(std::span<const std::optional<double>> costs);

} // namespace tunesmith
