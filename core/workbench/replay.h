// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <span>

#include "core/workbench/optimize.h"
#include "core/workbench/picture.h"

namespace tunesmith {

// All graphs on the way of an optimization as one picture: every node and edge that any of them has is there once, so that laid out together
// they keep their places while the way is walked. A node of the first graph is followed by lineage, one that a rule made by what it computes
// from what. As in every picture, what only computes weights is not drawn.
struct ReplayPicture {
    ModelPicture picture;
    // For each node and edge the graphs at which it comes, goes, comes again: ascending. One that is there from the first starts with 0.
    std::vector<std::vector<int>> nodeTurns, edgeTurns;
    int graphs = 0;
};

// The first graph, then one after each rewrite, whose lineage tells what became of the first one's nodes. The only error is `cancelled`.
Result<ReplayPicture> drawReplay(std::span<const Graph> graphs, const StopToken& stop = {});
std::vector<Graph> graphsOf(const OptimizedModel& made);

} // namespace tunesmith
