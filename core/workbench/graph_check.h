// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/graph/graph.h"
#include "core/workbench/inputs.h"
#include "core/workbench/work.h"

namespace tunesmith {

// Inside core/workbench only. Whether a rewritten graph computes what the first did, with the reference kernels on drawn inputs of both signs, or some of them given:
// on one draw where that agrees, else on several, and by what nudges of inputs and weights do to the first (check/sensitivity.h).
struct GraphCheck {
    bool same = false;
    double difference = 0; // the largest, to the scale of the output
    std::string text;      // what was found, in one sentence
};
Result<GraphCheck> compareGraphs(const Graph& before, const Graph& after, const InputChoice& inputs, const Work& work);

} // namespace tunesmith
