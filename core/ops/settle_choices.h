// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/ops/fold_constants.h"

namespace tunesmith {

// Folds constants here and in the bodies of nodes, and puts the branch that is taken in the place of an If
// whose condition is known then. A model for many shapes has branches that can only work with some of them;
// once its dimensions are bound, other runtimes refuse to load the branches that are never taken. Where the
// condition is not known and only one branch can work with these shapes, that one stands in the place of the
// If, and float results are NaN should the other one have been meant. Takes a graph whose shapes were inferred
// and gives back one whose shapes are inferred; names of values stay, ids change.
Result<Graph> settleChoices(const Graph& graph, const FoldOptions& options = {});

// A sentence for each branch that settleChoices() leaves out because it cannot work.
std::vector<std::string> impossibleBranches(const Graph& graph);

} // namespace tunesmith
