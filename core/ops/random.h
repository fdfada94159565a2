// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/rng.h"
#include "core/graph/node.h"

namespace tunesmith::ops {

// Where an operator that draws gets its numbers: the seed is the attribute, or the node's name where there is none, and
// every evaluation of the node starts afresh. So the same model gives the same numbers everywhere, and two nodes without
// a seed do not give the same ones. They are not those of other runtimes, which ONNX does not ask for.
Rng rngOf(const Node& node);

} // namespace tunesmith::ops
