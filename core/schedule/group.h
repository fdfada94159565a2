// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace tunesmith {

// Which nodes share a kernel. A group is one operator of any kind plus the elementwise operators of the same shape that
// follow it, as long as nothing else reads what lies between them: they join the last stage and cost no memory traffic.
struct KernelGroup {
    // alias: the output is bytes of the first input under another shape; reference: one node that is no kernel
    enum class Kind { kernel, alias, reference };
    Kind kind = Kind::kernel;
    std::int64_t offset = 0;      // of an alias: where they begin (view.h)
    std::vector<NodeId> nodes;    // in topological order
    std::vector<ValueId> inputs;  // what the group reads from outside, constants included, each once
    std::vector<ValueId> outputs; // of the last node
};

// All nodes of a graph, in an order in which groups can run.
std::vector<KernelGroup> groupNodes(const Graph& graph);

} // namespace tunesmith
