// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"

namespace tunesmith {

// InstanceNormalization of maps and volumes becomes that of rows, each of them a map: the kernels of normalisations work on rows that lie
// side by side. Runs after shape inference; all types are known behind it.
Result<Graph> mapNormsAsRowNorms(const Graph& graph);

} // namespace tunesmith
