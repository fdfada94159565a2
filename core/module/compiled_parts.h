// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace tunesmith {

// The parts of a prepared graph that are kernels all through, in the order in which they can run; what is no
// kernel runs between them. The whole graph where all of it is. An Error names the first node that is no
// kernel where none is one.
Result<std::vector<Graph>> compiledParts(const Graph& prepared);

} // namespace tunesmith
