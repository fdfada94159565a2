// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>
#include <vector>

#include "core/check/equivalence.h"

namespace tunesmith {

// Some models amplify rounding: normalisations over almost constant features, long chains of them. Two correct programs then
// differ by more than the usual tolerance. How much is asked of the model itself: what its outputs do when its inputs move by
// about the rounding errors of one layer, of which there are many.

inline constexpr double kNudge = 1e-6; // relative
inline constexpr double kSensitivityFactor = 10;

// The same tensors, each float moved by up to kNudge of itself; others stay. The seed decides which way.
std::vector<Tensor> nudgedInputs(std::span<const Tensor> inputs, std::uint64_t seed);

// The usual tolerance, or kSensitivityFactor times what the nudge did to the outputs; never above a hundredth of the scale, for beyond that
// a wrong program could pass for a rounding error.
Tolerance toleranceOfSensitive(std::span<const Tensor> outputs, std::span<const Tensor> nudgedOutputs);

} // namespace tunesmith
