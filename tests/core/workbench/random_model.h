// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/rng.h"
#include "core/graph/graph.h"

namespace tunesmith::testing {

// A small valid model by random numbers: operators that have kernels, views and packed numbers, one behind the other, with constants
// of any shape that fits, in opsets of 7 to 23. The same seed always gives the same model.
Graph randomModel(std::uint64_t seed);

} // namespace tunesmith::testing
