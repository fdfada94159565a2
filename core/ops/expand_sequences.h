// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/ops/operator.h"

namespace tunesmith {

// Does without sequences and optional values where it is known what they hold: a sequence that is made of so many values, or
// of parts of a tensor whose extent is known, and is read at places that are constants. What reads them gets the values
// themselves. No value where there is nothing to do. Takes a graph whose shapes were inferred; ids change.
Result<std::optional<Graph>> expandSequences(const Graph& graph);

namespace ops {
// The extents of the parts that SplitToSequence makes; `split` may be absent. None where they do not fit.
std::optional<std::vector<std::int64_t>> splitSizes(const Tensor& split, std::int64_t extent);
} // namespace ops

} // namespace tunesmith
