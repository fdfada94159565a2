// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <span>

namespace tunesmith {

// How well scores order what was measured: all that a search needs of a cost model. `truth` and `scores` are
// of equal length, higher is better in both; no NaNs.

// Kendall's tau-b, in [-1, 1]; 0 where one side is constant. O(n^2).
double kendallTau(std::span<const float> truth, std::span<const float> scores);

// Share of the pairs of different truth that the scores put in the same order; equal scores count half. 0.5
// is chance; 0.5 also where no pair differs.
double pairwiseAccuracy(std::span<const float> truth, std::span<const float> scores);

// Share of the `count` truly best that are among the `count` best scored (ties: the earlier one).
double recallAtTop(std::span<const float> truth, std::span<const float> scores, std::size_t count);

} // namespace tunesmith
