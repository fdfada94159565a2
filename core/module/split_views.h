// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// A Split whose parts are runs of its input's rows is as many Slices, each of which is a view (schedule/view.h) and needs no kernel. Other Splits
// stay: they are one kernel. Runs after shape inference.
Result<Graph> splitsAsViews(const Graph& graph);

} // namespace tunesmith
