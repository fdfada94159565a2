// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/result.h"
#include "core/graph/graph.h"

namespace tunesmith {

// Drops nodes whose results nobody reads, and the constants that only they read. Nodes of unknown operators stay: what is
// opaque is kept, never dropped. Graph inputs and outputs stay. Ids of nodes and values change.
Result<Graph> removeDeadNodes(const Graph& graph);

} // namespace tunesmith
