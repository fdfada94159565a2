// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include "core/search/strategy.h"

namespace tunesmith {

// Coordinate descent on measured trials, as TVM's Droplet search (Canesche et al., 2024) in spirit: from
// where it stands it moves one knob at a time, by 1, 2, 4 ... values up and down, small steps of all knobs
// before large ones; it goes on from the first that is better, in the same direction first. When no step is
// left it starts again at random; starts that are under way at once compete. Refuses a space without choices.
Result<std::unique_ptr<Strategy>> makeCoordinateDescent(const Space& space, std::uint64_t seed,
                                                        TrialCost cost = {});

} // namespace tunesmith
